"""Sealed keys can be decrypted with their secret, and with nothing else."""

import base64
import os
import stat
import struct

import pytest
from click.testing import CliRunner

from grader.answer_keys import file as key_file
from grader.answer_keys.file import KeyFile, KeyUnusable
from grader.cli.grade import grade as run_grade
from grader.cli.kata import kata as run_kata
from grader.installing import install_command

pytest.importorskip("cryptography", reason="an optional part of the installation")

SECRET = base64.b64encode(bytes(range(32))).decode()
DATA = b"DOJOKEYS and so on"
RIGHT = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return x + x\n"


@pytest.fixture(autouse=True)
def _no_secret(monkeypatch):
    monkeypatch.delenv("DOJO_SEAL", raising=False)


def unseal(data, secret=SECRET, file=None):
    if secret is not None:
        os.environ["DOJO_SEAL"] = secret
    return key_file.unseal(data, "ci.key", file)


def test_a_sealed_key_is_decrypted_with_its_secret():
    sealed = key_file.seal(DATA, SECRET)
    assert key_file.is_sealed(sealed)
    assert DATA not in sealed
    assert unseal(sealed) == DATA


def test_the_secret_is_taken_out_of_the_environment():
    unseal(key_file.seal(DATA, SECRET))
    assert "DOJO_SEAL" not in os.environ


def test_sealing_a_key_twice_gives_different_bytes():
    assert key_file.seal(DATA, SECRET) != key_file.seal(DATA, SECRET)


def test_a_secret_may_be_in_a_file(tmp_path):
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    assert unseal(key_file.seal(DATA, SECRET), None, file) == DATA


OTHER = "does not open with the secret in DOJO_SEAL: the secret is another, or the file is damaged."
NO_SECRET = "The secret in DOJO_SEAL is no secret: 44 characters of base64 are expected."
DAMAGED = "ci.key is cut off or damaged: fetch it again, or make it anew."
CASES = {
    "no secret": (lambda d: d, None, "ci.key is sealed: put its secret into the variable DOJO_SEAL, or name"
                  " its file with --secret."),
    "another secret": (lambda d: d, key_file.new_secret(), f"ci.key {OTHER}"),
    "no base64": (lambda d: d, "x!", NO_SECRET),
    "too short": (lambda d: d, "aGk=", NO_SECRET),
    "cut off": (lambda d: d[:-1], SECRET, f"ci.key {OTHER}"),
    "one bit": (lambda d: d[:40] + bytes([d[40] ^ 1]) + d[41:], SECRET, f"ci.key {OTHER}"),
    "another nonce": (lambda d: d[:12] + bytes([d[12] ^ 1]) + d[13:], SECRET, f"ci.key {OTHER}"),
    "the head alone": (lambda d: d[:30], SECRET, DAMAGED),
    "future": (lambda d: d[:8] + struct.pack(">H", 3) + d[10:], SECRET,
               "ci.key was written by a newer version of the grader: upgrade the grader."),
    "past": (lambda d: d[:8] + struct.pack(">H", 0) + d[10:], SECRET,
             "ci.key is sealed in version 0, and this grader reads version 1: seal it anew with"
             " `kata key --seal`."),
}  # fmt: skip


@pytest.mark.parametrize(("breaking", "secret", "sentence"), CASES.values(), ids=list(CASES))
def test_a_key_that_cannot_be_decrypted_is_one_sentence(breaking, secret, sentence):
    with pytest.raises(KeyUnusable) as refused:
        unseal(breaking(key_file.seal(DATA, SECRET)), secret)
    assert str(refused.value) == sentence


def test_a_secret_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(KeyUnusable, match=r"^The secret no\.secret cannot be read\.$"):
        unseal(key_file.seal(DATA, SECRET), None, tmp_path / "no.secret")


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(KeyUnusable) as refused:
        key_file.seal(DATA, SECRET)
    assert str(refused.value) == (
        f"Sealed keys need the package `cryptography`: {install_command('decoder-dojo[seal]')}"
    )


@pytest.fixture
def seal(tiny_course, tmp_path, monkeypatch):
    """Return `seal(*options)`, which runs `kata key double --seal` in the tiny course."""
    monkeypatch.chdir(tiny_course.root)
    (tmp_path / "mine.py").write_text(RIGHT)

    def seal(*options):
        arguments = ["key", "double", "--seal", "--output", str(tmp_path / "ci.key"), *map(str, options)]
        return CliRunner().invoke(run_kata, arguments)

    return seal


def grade(tmp_path, *options):
    arguments = ["double", "--file", str(tmp_path / "mine.py"), "--key", str(tmp_path / "ci.key"), *options]
    return CliRunner().invoke(run_grade, arguments)


def opened(tmp_path):
    secret = tmp_path / "ci.key.secret"
    return KeyFile(key_file.unseal((tmp_path / "ci.key").read_bytes(), "ci.key", secret), "ci.key")


def test_sealing_again_makes_another_secret(seal, tmp_path):
    first = seal()
    assert first.exit_code == 0, first.stderr
    assert first.stdout.startswith("ci.key is sealed. Its secret is in ci.key.secret: give it to")
    secret = (tmp_path / "ci.key.secret").read_text()
    assert stat.S_IMODE((tmp_path / "ci.key.secret").stat().st_mode) == 0o600
    assert seal().exit_code == 0
    assert (tmp_path / "ci.key.secret").read_text() != secret
    assert opened(tmp_path).seed == 0  # the course's secret seed, which a key does not say


def test_a_named_secret_stays_when_a_key_is_sealed_anew(seal, tmp_path):
    file = tmp_path / "mine.secret"
    assert seal("--secret", file).exit_code == 0
    secret = file.read_text()
    again = seal("--secret", file)
    assert again.stdout == "ci.key is sealed anew; its secret is still that of mine.secret.\n"
    assert file.read_text() == secret
    assert grade(tmp_path, "--secret", str(file)).exit_code == 0


def test_a_sealed_key_grades_with_the_variable_and_says_so_without(seal, tmp_path, monkeypatch):
    seal()
    result = grade(tmp_path)
    assert (result.exit_code, result.stderr) == (4, CASES["no secret"][2] + "\n")
    monkeypatch.setenv("DOJO_SEAL", (tmp_path / "ci.key.secret").read_text())
    assert grade(tmp_path).exit_code == 0
