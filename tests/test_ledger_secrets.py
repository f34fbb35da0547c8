"""Secrets as people really write them into manifests, each found in what the ledger keeps unless it is taken away."""

import copy
import json
import time
from typing import Any

import pytest

from signalbox.audit.ledger.options import Redaction
from signalbox.audit.ledger.redaction import redact
from signalbox.audit.ledger.secret_text import mask_text
from tests.manifests import gpu_job, pod_spec
from tests.world import SIGNS

S = "Tr0ub4dor3"


def kept_text(*, meta: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **fields: Any) -> str:
    """Object and oldObject of a Job with these fields of its container, after redaction, and the doubts, as text."""
    job = gpu_job()
    job["metadata"].update(meta or {})
    pod_spec(job).update(spec or {})
    pod_spec(job)["containers"][0].update(fields)
    kept = redact(job, copy.deepcopy(job), Redaction(), SIGNS)
    return json.dumps([kept.object, kept.old_object, kept.doubts])


SCRIPTS = [
    # Clients of databases and stores, with passwords behind one letter.
    "mysql -uroot -p{} -h db -e 'select 1'",
    "mysqldump --user=root --password={} d > x.sql",
    "mongo -u root -p {} --host db",
    "redis-cli -h db -a {} ping",
    "PGPASSWORD={} psql -h db",
    "echo 'db.host:5432:*:user:{}' > ~/.pgpass",
    "sqlplus jdbc:oracle:thin:u/{}@h:1521/x",
    "mc alias set minio http://h:9000 admin {}",
    "ldapsearch -x -D cn=a -w {}",
    "unzip -P {} x.zip && 7z x -p{} y.7z",
    "openssl enc -d -aes-256-cbc -k {} -in x",
    "lftp -u user,{} sftp://h",
    "sshpass -p'{}' ssh h",
    "htpasswd -b f u {}",
    # Registries and clouds.
    "docker login -u me -p {} ghcr.io",
    "echo {} | docker login -u me --password-stdin ghcr.io",
    "az login --service-principal -u x -p {} --tenant t",
    "aws configure set aws_secret_access_key {}",
    "rclone config create r s3 secret_access_key {}",
    "cat > ~/.aws/credentials <<E\n[default]\naws_secret_access_key = {}\nE",
    # HTTP.
    "curl -uadmin:{} https://h",
    "curl -u 'admin:{}' https://h",
    "curl -b 'session={}' https://h",
    "curl -H 'Authorization: token {}' https://h",
    "curl -H 'X-Vault-Token: {}' https://h",
    "wget --http-user=a --http-password={} https://h",
    "pip install --extra-index-url https://{}:@pypi.h/simple x",
    "git clone https://{}@github.com/a/b",
    "git clone https://user:a/{}@github.com/a/b",
    "wget 'https://h/x?access_token={}&key={}'",
    # Files made on the spot.
    "cat > ~/.netrc <<EOF\nmachine github.com login me password {}\nEOF\ngit clone",
    "cat <<'EOF' > .env\nFOO=1\nSTRIPE_KEY={}\nOPENAI_API_KEY={}\nEOF",
    "cat > k <<EOF\nusers:\n- user:\n    token: {}\n    client-key-data: {}\nEOF",
    "cat > c <<EOF\npassword: |\n  {}\nEOF",
    "cat > c <<EOF\n<password>{}</password>\nEOF",
    # Shells and Python.
    "export PW={}\npython t.py",
    "export DB_PSW={} DB_PASSWRD={}",
    "set -x DB_PASSWORD {}",
    "setenv DB_PASSWORD {}",
    "train --password \\\n   {}",
    "echo {} | sudo -S ls",
    "passwd <<< {}",
    "python - <<EOF\nos.environ['DB_PASSWORD']='{}'\nEOF",
    'python - <<EOF\nos.putenv("DB_PASSWORD", "{}")\nEOF',
    "python -c \"import wandb; wandb.login(key='{}')\"",
    'db := "x"; password := "{}"',
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_secret_in_a_script_is_not_kept(script: str) -> None:
    text = script.replace("{}", S)
    assert S not in kept_text(command=["sh", "-c", text])
    assert S not in kept_text(args=[text])
    assert S not in kept_text(meta={"annotations": {"example.com/script": text}})


@pytest.mark.parametrize("script", [script for script in SCRIPTS if "\n" not in script])
def test_nor_is_the_value_of_a_variable_that_stands_for_it_there(script: str) -> None:
    text = script.replace("{}", "${PLAIN}")
    assert S not in kept_text(command=["sh", "-c", text], env=[{"name": "PLAIN", "value": S}])


@pytest.mark.parametrize(
    "words",
    [
        ["mongo", "-u", "root", "-p", S],
        ["/usr/bin/sshpass", "-p", S, "ssh"],
        ["sshpass", f"-p{S}", "ssh"],
        ["docker", "login", "-u", "me", "-p", S],
        ["curl", f"-uadmin:{S}", "https://h"],
        ["curl", f"--user=admin:{S}", "https://h"],
        ["redis-server", "--requirepass", S],
        ["aws", "configure", "set", "aws_secret_access_key", S],
        ["mc", "alias", "set", "minio", "http://h", "admin", S],
        ["train", f"--db-pw={S}", f"--dbpassword={S}", f"-Djavax.net.ssl.keyStorePassword={S}"],
        ["train", json.dumps([{"name": "DB_PASSWORD", "value": S}])],
        ["train", json.dumps(json.dumps({"db": {"password": S}}))],
        ["train", json.dumps({"passwords": [S, S]})],
        ["train", json.dumps(["--token", S])],
    ],
)
def test_a_secret_in_a_list_of_words_is_not_kept(words: list[str]) -> None:
    assert S not in kept_text(command=words)


@pytest.mark.parametrize(
    "token",
    [
        f"hvs.CAESIJ{S}abcdefghijkl",
        f"sk_live_abcd{S}",
        f"SG.abcd{S}.abcdefghijklmnop",
        f"pypi-AgEIcHlwaS5vcmc{S}",
        f"glrt-{S}abcdefghijk",
        f"dp.st.dev.{S}abcdefghijklmnop",
        f"r8_{S}abcdefghijklmnopqrs",
        "dapi0123456789abcdef0123456789abcdef",
        "AGE-SECRET-KEY-1QQQQTR0UB4DOR3",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "cGFzc3dvcmQ/VHIwdWI0ZG9yMz9wYXNzd29yZD9UcjB1YjRkb3IzPw==",
        f"https://corp.webhook.office.com/webhookb2/aaaa@bbbb/IncomingWebhook/{S}cafe/uuid",
        f"https://api.telegram.org/bot123456:AAE{S}xyzxyz/sendMessage",
    ],
)
def test_a_token_whose_form_is_known_is_not_kept_wherever_it_stands(token: str) -> None:
    secret = token.rpartition("//")[2].partition("/")[2] or token if token.startswith("https://") else token
    for text in (kept_text(args=["run", token]), kept_text(env=[{"name": "A", "value": token}], args=["run $A"])):
        assert secret not in text
    assert secret not in kept_text(spec={"nodeSelector": {}, "x": {token: "a"}})


@pytest.mark.parametrize(
    "fields",
    [
        {"values": {"postgresql": {"auth": {"postgresPassword": S, "w": S}}}},
        {"passwords": [S, S]},
        {"secrets": {"a": S}},
        {"credentials": {"user": "u", "value": S}},
        {"template": {"stringData": {"x": S}}},
        {"template": {"kind": "Secret", "data": S}},
        {"params": [{"key": "db_password", "value": S}]},
        {"csi": {"volumeAttributes": {"accountkey": S}}},
        {"auths": {f"https://u:{S}@registry.example.com": {}}},
    ],
)
def test_a_secret_in_the_fields_of_an_object_is_not_kept(fields: dict[str, Any]) -> None:
    assert S not in kept_text(**fields)


def test_what_refers_to_a_secret_stays_whole() -> None:
    fields = {
        "imagePullSecrets": [{"name": "registry"}],
        "volumes": [
            {"name": "a", "secret": {"secretName": "tls", "items": [{"key": "ca.crt", "path": "ca"}], "defaultMode": 256}},
            {"name": "b", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "audience": "vault"}}]}},
        ],
    }
    env = [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]
    kept = kept_text(spec=fields, env=env)
    for value in (*fields.values(), env):
        assert json.dumps(value) in kept


@pytest.mark.parametrize(
    "text",
    [
        "docker run -p 8080:80 image && python -u train.py",
        "torchrun --nproc_per_node 8 train.py --tokenizer meta-llama/Llama-3-8B --max_tokens 4096",
        "python train.py --output_dir s3://bucket/run1 --save_steps=500 --data http://host:8080/a@b",
        "echo the token budget is spent; echo password required",
        "cp -p /a /b; tar -p x; mkdir -p /ckpt/run && curl -o /tmp/model.bin https://h/models/a",
        "this resource key is set to 4096 by policy",
    ],
)
def test_commands_without_a_secret_stay_as_they_are(text: str) -> None:
    assert mask_text(text, lambda _: "#") == text


HOSTILE = (
    "a",
    "A ",
    "-----BEGIN PRIVATE KEY",
    "://a:",
    "https://u:p@",
    "thin:a/",
    "a:11:a:",
    '"a ',
    "token=\n",
    "--a \\\n",
    'name:"a",value',
    "<a>",
    "echo a |",
    "curl 'curl ",
    "login --a ",
    "set password ",
    "password: |\n  ",
    "password=[",
    "aB3/=",
    "secret_",
    "basic ${a",
)


def test_no_text_takes_long_to_look_through() -> None:
    # Twice as long a text may take twice as long, and not four times: some of these took minutes.
    began = time.process_time()
    for piece in HOSTILE:
        mask_text((piece * 30_000)[:30_000], lambda _: "#")
    assert time.process_time() - began < 8


def test_a_text_that_is_too_long_to_look_through_is_not_kept_and_told() -> None:
    kept = kept_text(args=["x" * 100_000 + S], meta={"annotations": {"a": "b"}})
    assert S not in kept
    assert "a text of more than 64 kB" in kept
