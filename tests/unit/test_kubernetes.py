"""Check the manifests against the schemas of Kubernetes, and against what they repeat from the repository."""

import re
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from service.config.control import ControlSettings
from service.config.machine import MachineSettings
from service.config.shared import PREFIX
from tests.support.command_line import parse_command

ROOT: Final = Path(__file__).parents[2]
TEXTS: Final = {file.name: file.read_text() for file in sorted(ROOT.glob("deploy/kubernetes/*"))}
KUSTOMIZATION: Final = yaml.safe_load(TEXTS.pop("kustomization.yaml"))
DOCUMENTS: Final[dict[str, Any]] = {
    f"{each['kind']} {each['metadata']['name']}": each
    for text in TEXTS.values()
    for each in yaml.safe_load_all(text)
}
PODS: Final = {k.split()[1]: d["spec"]["template"] for k, d in DOCUMENTS.items() if "template" in d["spec"]}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_manifest_has_fields_of_kubernetes_only_and_selects_pods_that_exist(name: str) -> None:
    kubernetes_validate.validate(DOCUMENTS[name], "1.37", strict=True)
    spec = DOCUMENTS[name]["spec"]
    chosen = spec.get("podSelector", spec.get("selector", {}))
    chosen = chosen if name.startswith("Service") else chosen.get("matchLabels", {})
    assert any(chosen.items() <= pod["metadata"]["labels"].items() for pod in PODS.values())


def test_every_file_is_applied() -> None:
    assert sorted(KUSTOMIZATION["resources"]) == list(TEXTS)


@pytest.mark.parametrize("name", PODS)
def test_a_pod_runs_a_command_in_the_image_with_the_settings_and_secrets_of_its_plane(name: str) -> None:
    pod, is_machine = PODS[name]["spec"], name.startswith("worker")
    [container] = pod["containers"]
    fields = (MachineSettings if is_machine else ControlSettings).model_fields
    known = {"HOME", *(f"{PREFIX}{field.upper()}" for field in fields)}
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    program, *words = container["command"]
    ports = [each["containerPort"] for each in container.get("ports", [])]
    secrets = set(re.findall(r"'secret(?:Name|Ref)': (?:{'name': )?'([^']+)", str(pod)))
    own = {"web": {"benchgate-web"}, "worker-perf": {"benchgate-worker-perf-tokens"}}.get(name, set())
    plane = "benchgate-worker-perf" if is_machine else "benchgate-control"

    assert (program, container["image"]) == ("benchgate", compose["x-benchgate"]["image"])
    assert ports in ([], [parse_command(*words).get("port")])
    assert {each["name"] for each in container["env"]} <= known
    assert secrets == {plane, f"{plane}-files", *own}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_has_the_user_of_the_image_and_no_further_right(name: str) -> None:
    pod = PODS[name]["spec"]
    own = pod["containers"][0]["securityContext"]
    assert pod["automountServiceAccountToken"] is False
    assert (own["allowPrivilegeEscalation"], own["capabilities"]) == (False, {"drop": ["ALL"]})
    assert f" --uid {pod['securityContext']['runAsUser']} " in (ROOT / "Dockerfile").read_text()
    # The API server refuses an unmasked /proc without a user namespace.
    assert (own.get("procMount"), pod.get("hostUsers")) in {(None, None), ("Unmasked", False)}


def test_a_machine_gets_cpus_of_its_own() -> None:
    resources = PODS["worker-perf"]["spec"]["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"]
    assert resources["limits"]["cpu"].isdecimal()
