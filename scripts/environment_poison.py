"""What a skill tries to change in the environment that it is run in."""

POISON = r'''
import ctypes, mmap, os, shutil, subprocess, sys, tempfile

folder = sys.argv[1]
packages = next(os.path.join(at, "site-packages") for at, names, _ in os.walk(folder) if "site-packages" in names)
module = os.path.join(packages, "six.py")
MARK = b"\npoisoned = True\n"


def opened(flags):
    handle = os.open(module, flags)
    try:
        os.write(handle, MARK)
    finally:
        os.close(handle)


def append():
    opened(os.O_WRONLY | os.O_APPEND)


def truncate():
    os.truncate(module, os.path.getsize(module))
    with open(module, "r+b") as file:
        file.truncate()


def add_a_file():
    with open(os.path.join(packages, "sitecustomize.py"), "wb") as file:
        file.write(MARK)


def add_a_path_file():
    with open(os.path.join(packages, "poison.pth"), "w") as file:
        file.write("import sys\n")


def remove():
    os.unlink(os.path.join(folder, "pyvenv.cfg"))
    with open(os.path.join(folder, "pyvenv.cfg"), "w") as file:
        file.write("home = /tmp\n")


def rename():
    os.rename(module, module + ".old")
    os.rename(module + ".old", module)


def exchange():
    with tempfile.NamedTemporaryFile(dir=packages, delete=False) as file:
        file.write(open(module, "rb").read() + MARK)
    os.replace(file.name, module)


def link_over():
    os.symlink("/tmp/six.py", module + ".link")
    os.replace(module + ".link", module + "2")


def hard_link():
    os.link(module, os.path.join(packages, "linked.py"))
    with open(os.path.join(packages, "linked.py"), "ab") as file:
        file.write(MARK)


def mode():
    os.chmod(module, 0o777)


def owner():
    os.chown(module, os.getuid(), os.getgid())


def times():
    os.utime(module, (1, 1))


def attribute():
    os.setxattr(module, "user.poison", b"1")


def shared_memory():
    with open(module, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = mapped[0:1]


def by_handle():
    handle = os.open(module, os.O_RDONLY)
    again = os.open(f"/proc/self/fd/{handle}", os.O_WRONLY | os.O_APPEND)
    os.write(again, MARK)


def by_another_path():
    path = f"/proc/self/root{module}"
    if not os.path.exists(path):
        path = module
    with open(path, "ab") as file:
        file.write(MARK)


def compiled():
    cache = os.path.join(packages, "__pycache__")
    os.makedirs(cache, exist_ok=True)
    name = os.path.join(cache, "six.cpython-%d%d.pyc" % sys.version_info[:2])
    with open(name, "ab") as file:
        file.write(b"\0")


def interpreter():
    path = os.path.join(folder, "bin", "python3")
    os.unlink(path)
    os.symlink("/bin/true", path)


def program():
    with open(os.path.join(folder, "bin", "poison"), "w") as file:
        file.write("#!/bin/sh\n")


def allocate():
    handle = os.open(module, os.O_RDWR)
    os.posix_fallocate(handle, 0, os.path.getsize(module))


def copy_into():
    with open(module, "rb") as source, open(module + ".copy", "wb") as target:
        os.sendfile(target.fileno(), source.fileno(), 0, 10)


def by_a_shell():
    subprocess.run(["sh", "-c", f"echo poisoned=1 >> {module}"], check=True, stderr=subprocess.DEVNULL)


def after_a_mount():
    libc = ctypes.CDLL(None, use_errno=True)
    # MS_REMOUNT | MS_BIND; on a copy nothing has to be mounted.
    libc.mount(None, folder.encode(), None, 0x1020, None)
    libc.umount2(folder.encode(), 2)
    with open(module, "ab") as file:
        file.write(MARK)


tries = [append, truncate, add_a_file, add_a_path_file, remove, rename, exchange, link_over, hard_link, mode,
         owner, times, attribute, shared_memory, by_handle, by_another_path, compiled, interpreter, program,
         allocate, copy_into, by_a_shell, after_a_mount]
for one in tries:
    name = one.__name__.replace("_", " ")
    try:
        one()
        print(f"worked: {name}")
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        print(f"failed: {name}: {error}")
print("tried", len(tries))
'''
