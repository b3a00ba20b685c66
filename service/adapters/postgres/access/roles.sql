-- The roles and the database of docker-compose.yml. PostgreSQL's image runs this once, when it creates the cluster.
-- The owner is no superuser, who could change the audit log. The passwords are in the environment, and so in no file.

\getenv owner OWNER
\getenv machine MACHINE
CREATE ROLE benchgate LOGIN PASSWORD :'owner';
CREATE ROLE benchgate_machine LOGIN PASSWORD :'machine';
CREATE DATABASE benchgate OWNER benchgate;
