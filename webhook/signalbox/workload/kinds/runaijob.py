"""RunaiJob ``run.ai``: a Job of Run:ai's own, whose scheduler places its Pods together and whose projects are its queues."""

from dataclasses import replace

from signalbox.workload.kinds.job import JOB

RUNAI_JOB = replace(JOB, group="run.ai", kind="RunaiJob", queue=None, suspend=None, defaulted=False, wraps=lambda job: JOB)
