"""The Celery app; `benchgate worker --pool NAME` starts it for the control plane or a pool of machines."""

from __future__ import annotations

from celery import Celery

from service.adapters.queue import CONTROL_QUEUE
from service.config import MachineSettings
from service.logs import log_as_json

log_as_json()
# Only what both planes share is read here: a machine worker has no other settings.
app = Celery("benchgate", broker=MachineSettings().redis_url or None)
app.conf.update(
    task_default_queue=CONTROL_QUEUE,
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=False,  # PostgreSQL decides what is to be repeated; a hint is spent once it is read
    worker_prefetch_multiplier=1,  # a hint held back by a busy worker helps nobody
    worker_send_task_events=False,
    worker_enable_remote_control=False,  # nothing but tasks reaches a worker through the broker
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,  # our own lines stay as they are
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # the broker may be away for long; work is in the database
    broker_transport_options={"visibility_timeout": 3600, "socket_timeout": 30},
)
