"""The kernel sources: which folders have them, and the hash that ties a PTX text to its source."""
import hashlib
import pathlib

# Folder of sources -> folder of the PTX made of them.
FOLDERS = {
    "runtime/model/cuda/kernels": "runtime/model/cuda/kernels/ptx",
    "runtime/model/cuda/fakecuda/probes": "runtime/model/cuda/driver/testdata",
}
ROOT = pathlib.Path(__file__).resolve().parents[4]


def kernels(folder):
    """The sources of a folder that are compiled, in order."""
    return sorted(pathlib.Path(folder).glob("*.cu"))


def sources_sha256(source):
    """The hash of a source and of all headers beside it: sha256 over "NAME\\0TEXT\\0" of each *.cuh by name and
    then of the source."""
    digest = hashlib.sha256()
    source = pathlib.Path(source)
    for path in [*sorted(source.parent.glob("*.cuh")), source]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
