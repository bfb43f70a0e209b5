#!/usr/bin/env python3
"""Builds wheels that carry this repository's commands, for people who have Python and not Go.

    python3 scripts/wheel.py OUT [--platform linux-amd64 | linux-arm64 | darwin-arm64]...

One wheel a platform, all by default, goes into the folder OUT; path and sha256 of each are printed.
Each command below cmd/ is cross-built without cgo, as by

    CGO_ENABLED=0 GOOS=... GOARCH=... go build -trimpath -buildvcs=auto

and lies in the wheel as NAME-VERSION.data/scripts/COMMAND, which an installer puts on the PATH. There
is no Python code in a wheel and nothing depends on the interpreter: its tag is py3-none-PLATFORM.

What PLATFORM claims is read off the executables
(https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/):
  - Linux: the executable asks for no loader and no library (neither is in its program headers), so it
    runs beside any libc. It carries the tag of the oldest glibc that every current installer knows
    (manylinux_2_17, also by its older name manylinux2014), and that of musl (musllinux_1_1). The
    kernel must be one that Go still supports (3.2 for Go 1.24 and later).
  - macOS: macosx_MAJOR_MINOR with the lowest version that the executable says it runs on.

VERSION is the module's version in the form of PEP 440, from the build information of the executable,
or, where Go stamped none (a linked worktree), from git in the same form:
    v1.2.3                                  1.2.3
    v1.2.3-rc.1                             1.2.3rc1
    v0.0.0-20260102030405-0123456789ab      0.0.0.dev20260102030405+g0123456789ab
    v1.2.4-0.20260102030405-0123456789ab    1.2.4.dev20260102030405+g0123456789ab
    v1.2.3-rc.1.0.20260102030405-...        1.2.3rc2.dev20260102030405+g...
    ...+dirty (OUT inside the tree is enough for that)   ...+dirty, +g....dirty
    (devel), no git                         0.0.0+devel

The same source, Go and zlib give the same bytes: entries are in a fixed order, their time is 1980.
Format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

NAME = "fanoutbench"
SUMMARY = "Measures how an LLM server moves tokens between its processes over ZeroMQ, and verifies every row"
# Ours, and of what is linked in: docs/dependencies.md. The texts are in the wheel.
LICENCE = "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND MIT"
PLATFORMS = ("linux-amd64", "linux-arm64", "darwin-arm64")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # as Linux calls them
# The least that any processor of the architecture has: what Go takes where nothing is said.
LEVELS = {"GOAMD64": "v1", "GOARM64": "v8.0"}

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failed(Exception):
    """The wheel cannot be built; the text says why."""


def output(*command, env=None):
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def build(platform, folder):
    """Builds every command for a platform; gives {command: path}."""
    goos, goarch = platform.split("-")
    env = {**os.environ, **LEVELS, "CGO_ENABLED": "0", "GOOS": goos, "GOARCH": goarch}
    packages = output("go", "list", "-f", '{{if eq .Name "main"}}{{.ImportPath}}{{end}}', "./cmd/...", env=env).split()
    commands = [p for p in packages if p.split("/")[-2] == "cmd"]
    if not commands:
        raise Failed("no command below cmd/")
    output("go", "build", "-trimpath", "-buildvcs=auto", "-o", f"{folder}/", *commands, env=env)
    return {p.split("/")[-1]: folder / p.split("/")[-1] for p in sorted(commands)}


def needs_loader(data):
    """Whether an ELF executable of 64 bits asks for a loader or for libraries."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Failed("the executable is no little-endian ELF of 64 bits")
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    kinds = [struct.unpack_from("<I", data, offset + n * size)[0] for n in range(count)]
    return 2 in kinds or 3 in kinds  # PT_DYNAMIC, PT_INTERP


def lowest_macos(data):
    """The lowest macOS that a Mach-O executable of 64 bits runs on, as (major, minor)."""
    if data[:4] != b"\xcf\xfa\xed\xfe":
        raise Failed("the executable is no little-endian Mach-O of 64 bits")
    count, = struct.unpack_from("<I", data, 16)
    at = 32
    for _ in range(count):
        command, size, system, lowest = struct.unpack_from("<IIII", data, at)
        if command == 0x32 and system == 1:  # LC_BUILD_VERSION, macOS
            return lowest >> 16, lowest >> 8 & 0xFF
        at += size
    raise Failed("the executable does not say which macOS it runs on")


def platform_tags(platform, executables):
    """The platform tags that every one of the executables may carry, oldest system first."""
    goos, goarch = platform.split("-")
    if goos == "linux":
        for name, data in executables.items():
            if needs_loader(data):
                raise Failed(f"{name} for {platform} is linked with libraries, want a static one")
        machine = MACHINES[goarch]
        return [f"manylinux2014_{machine}", f"manylinux_2_17_{machine}", f"musllinux_1_1_{machine}"]
    major, minor = max(lowest_macos(data) for data in executables.values())
    # From macOS 11 on an installer looks for minor versions of 0 only.
    return [f"macosx_{major + (minor > 0)}_0_{goarch}"]


def build_info(path):
    """(module version, {dependency: version}) that Go wrote into an executable."""
    version, dependencies = "", {}
    for line in output("go", "version", "-m", str(path)).splitlines():
        fields = line.split()
        if fields[:1] == ["mod"]:
            version = fields[2]
        elif fields[:1] == ["dep"]:
            dependencies[fields[1]] = fields[2]
    return version, dependencies


def git_version():
    """What Go would have stamped without a tag, or (devel) where there is no git."""
    try:
        revision, when = output("git", "log", "-1", "--format=%H %cd", "--date=format-local:%Y%m%d%H%M%S",
                                env={**os.environ, "TZ": "UTC"}).split()
        dirty = "+dirty" if output("git", "status", "--porcelain").strip() else ""
    except (Failed, FileNotFoundError):
        return "(devel)"
    return f"v0.0.0-{when}-{revision[:12]}{dirty}"


def pep440(version):
    """A module version in the form of PEP 440, normalised."""
    if version == "(devel)":
        return "0.0.0+devel"
    core, plus, local = version.partition("+")
    local = [local] if plus else []
    pseudo = re.fullmatch(r"v(\d+\.\d+\.\d+)-(?:(?:(.+)\.)?0\.)?(\d{14})-([0-9a-f]{12})", core)
    plain = re.fullmatch(r"v(\d+\.\d+\.\d+)(?:-(.+))?", core)
    if pseudo:
        number, before, when, revision = pseudo.groups()
        development, local = f".dev{when}", [f"g{revision}", *local]
    elif plain:
        number, before, development = plain[1], plain[2], ""
    if not (pseudo or plain) or plus and not re.fullmatch("[a-z0-9]+", local[-1]):
        raise Failed(f"module version {version!r} is not vMAJOR.MINOR.PATCH with what may follow")
    if before:
        stage = re.fullmatch(r"(alpha|a|beta|b|rc)[.-]?(\d+)", before)
        if not stage:
            raise Failed(f"{before!r} in module version {version!r} is not alpha, beta or rc with a number")
        # A revision behind rc.1 comes before rc.2.
        number += {"alpha": "a", "beta": "b"}.get(stage[1], stage[1]) + str(int(stage[2]) + bool(pseudo))
    return number + development + ("+" + ".".join(local) if local else "")


def licences(dependencies):
    """{path below licenses/: text} of this module, of what is linked in, and of Go's own library."""
    texts = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    folders = {"go": output("go", "env", "GOROOT").strip()}
    for line in output("go", "list", "-m", "-f", "{{.Path}}@{{.Version}}\t{{.Dir}}", *sorted(dependencies)).splitlines():
        module, folders[module] = line.split("\t")
    for name, folder in folders.items():
        found = sorted(p for p in pathlib.Path(folder).iterdir() if re.match(r"(?i)(licen[cs]e|copying|notice)(\.|$)", p.name))
        if not found:
            raise Failed(f"no licence in {folder}, the folder of {name}")
        for path in found:
            texts[f"third_party/{name}/{path.name}"] = path.read_bytes()
    return texts


def metadata(version, texts):
    files = "".join(f"License-File: {path}\n" for path in sorted(texts))
    return (f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\nSummary: {SUMMARY}\n"
            f"License-Expression: {LICENCE}\n{files}Requires-Python: >=3.7\n"
            "Project-URL: Source, https://github.com/fanoutbench/fanoutbench\n"
            "Description-Content-Type: text/markdown\n\n").encode() + (ROOT / "README.md").read_bytes()


def write(path, info, entries):
    """Writes the archive; entries are (name, mode, data). What lies in info comes last, RECORD at the end."""
    entries = sorted(entries, key=lambda e: (e[0].startswith(info), e[0]))
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, mode, data in entries:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
            add(archive, name, mode, data)
        add(archive, f"{info}/RECORD", 0o644, f"{record}{info}/RECORD,,\n".encode())


def add(archive, name, mode, data):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3  # Unix: the mode is in the upper half of the attributes
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


def wheel(platform, out):
    """Builds the wheel of one platform into the folder out and gives its path."""
    with tempfile.TemporaryDirectory(prefix=".making-", dir=out) as making:
        making = pathlib.Path(making)
        paths = build(platform, making)
        executables = {name: path.read_bytes() for name, path in paths.items()}
        infos = [build_info(path) for path in paths.values()]
        stamped = infos[0][0]
        version = pep440(git_version() if stamped == "(devel)" else stamped)
        texts = licences({name for _, dependencies in infos for name in dependencies})
        tags = platform_tags(platform, executables)
        name = f"{NAME}-{version}"
        info = f"{name}.dist-info"
        kinds = "".join(f"Tag: py3-none-{tag}\n" for tag in tags)
        entries = [(f"{name}.data/scripts/{command}", 0o755, data) for command, data in executables.items()]
        entries += [(f"{info}/licenses/{path}", 0o644, text) for path, text in texts.items()]
        entries += [
            (f"{info}/METADATA", 0o644, metadata(version, texts)),
            (f"{info}/WHEEL", 0o644, f"Wheel-Version: 1.0\nGenerator: scripts/wheel.py\nRoot-Is-Purelib: false\n{kinds}".encode()),
        ]
        made = making / f"{name}-py3-none-{'.'.join(tags)}.whl"
        write(made, info, entries)
        os.replace(made, out / made.name)
        return out / made.name


def main():
    parser = argparse.ArgumentParser(description="Builds wheels that carry the commands of this repository.")
    parser.add_argument("out", metavar="OUT", type=pathlib.Path, help="the folder that the wheels go into")
    parser.add_argument("--platform", action="append", choices=PLATFORMS, help="only this one; may be given again")
    args = parser.parse_args()
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        for platform in dict.fromkeys(args.platform or PLATFORMS):
            path = wheel(platform, args.out.resolve())
            print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {args.out / path.name}", flush=True)
    except (Failed, OSError) as err:
        sys.exit(f"wheel.py: {err}")


if __name__ == "__main__":
    main()
