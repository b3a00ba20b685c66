"""Celery app that `benchgate worker --pool NAME` starts for the control plane or a pool of machines."""

from __future__ import annotations

from celery import Celery

from service.adapters.runs.queue import CONTROL_QUEUE, TRANSPORT
from service.config.shared import Settings
from service.wiring.logs import log_as_json

log_as_json()
# Only the settings that both planes share.
app = Celery("benchgate", broker=Settings().redis_url or None)
app.conf.update(
    task_default_queue=CONTROL_QUEUE,
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=False,  # PostgreSQL decides about repetitions, so a task message is used only once
    worker_prefetch_multiplier=1,  # a busy worker must not hold tasks that another one could run
    worker_send_task_events=False,
    worker_enable_remote_control=False,  # the broker can send only tasks to a worker
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,  # Celery must not change Benchgate's log lines
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # an outage of the broker may be long; the database has the work
    broker_transport_options={**TRANSPORT, "socket_timeout": 30},
)
