"""Git: mirrors of the projects' repositories, and safe calls of the git command."""
