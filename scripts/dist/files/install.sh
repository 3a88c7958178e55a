#!/bin/sh
# Installs gongfu for you alone, or removes it:
#
#   sh install.sh [--uninstall]
#
# GONGFU_BASE  a folder or an address that holds the archive and SHA256SUMS (default: the latest release)
# GONGFU_BIN   where the program goes (default: ~/.local/bin)
set -eu

fail() {
  printf 'error: %s\n  hint: %s\n' "$1" "$2" >&2
  exit 1
}

target() {
  case "$(uname -s) $(uname -m)" in
    'Linux x86_64') echo x86_64-unknown-linux-gnu ;;
    'Linux aarch64' | 'Linux arm64') echo aarch64-unknown-linux-gnu ;;
    'Darwin x86_64') echo x86_64-apple-darwin ;;
    'Darwin arm64') echo aarch64-apple-darwin ;;
    *) fail "there is no archive for $(uname -s) $(uname -m)" 'build gongfu from source' ;;
  esac
}

# fetch NAME FOLDER: puts a file of the release into a folder.
fetch() {
  case $base in
    https://* | http://*)
      if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$2/$1" "$base/$1"
      elif command -v wget >/dev/null; then
        wget --quiet --output-document="$2/$1" "$base/$1"
      else
        fail 'neither curl nor wget is installed' 'install one of them, or set GONGFU_BASE to a folder'
      fi
      ;;
    *) cp "$base/$1" "$2/$1" ;;
  esac || fail "$base/$1 can't be read" 'check the address in GONGFU_BASE and your connection'
}

checksum() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  else
    shasum -a 256 "$1"
  fi | cut -d ' ' -f 1
}

install() {
  base=${GONGFU_BASE:-@URL@/releases/latest/download}
  target=$(target) || exit 1
  name=gongfu-$target.tar.gz
  if [ "$(uname -s)" = Linux ] && ! [ -e /lib64/ld-linux-x86-64.so.2 ] && ! [ -e /lib/ld-linux-aarch64.so.1 ]; then
    fail 'this system has no glibc' 'build gongfu from source'
  fi
  if [ -e "$bin/gongfu" ] && [ "$(cat "$bin/.gongfu-channel" 2>/dev/null)" != archive ]; then
    fail "$bin/gongfu was installed by something else" 'remove it first, or set GONGFU_BIN to another folder'
  fi
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  fetch SHA256SUMS "$folder"
  fetch "$name" "$folder"
  wanted=$(awk -v name="$name" '$2 == name { print $1 }' "$folder/SHA256SUMS")
  [ -n "$wanted" ] || fail "SHA256SUMS does not list $name" 'nothing was installed; use the files of one release'
  [ "$(checksum "$folder/$name")" = "$wanted" ] ||
    fail "the checksum of $name is wrong" 'nothing was installed; download it again'
  tar -xzf "$folder/$name" -C "$folder" "gongfu-$target/gongfu" ||
    fail "$name can't be unpacked" 'nothing was installed; is there space left in the temporary folder?'
  mkdir -p "$bin" || fail "$bin can't be created" 'set GONGFU_BIN to a folder that you may write to'
  # Renamed into place: a running gongfu keeps its old program.
  { cp "$folder/gongfu-$target/gongfu" "$bin/.gongfu-new" && mv -f "$bin/.gongfu-new" "$bin/gongfu" &&
    echo archive >"$bin/.gongfu-channel"; } || {
    rm -f "$bin/.gongfu-new"
    fail "$bin can't be written" 'set GONGFU_BIN to a folder that you may write to'
  }
  version=$("$bin/gongfu" --version) || fail "$bin/gongfu does not start" 'see the message above'
  printf 'installed %s as %s\n' "$version" "$bin/gongfu"
  case :$PATH: in
    *:"$bin":*) printf 'next: gongfu client install claude-code\n' ;;
    *) printf 'next: add %s to PATH, then run: gongfu client install claude-code\n' "$bin" ;;
  esac
}

uninstall() {
  [ -e "$bin/gongfu" ] || fail "there is no $bin/gongfu" 'set GONGFU_BIN to the folder that it was installed to'
  [ "$(cat "$bin/.gongfu-channel" 2>/dev/null)" = archive ] ||
    fail "$bin/gongfu was not installed by this installer" 'gongfu doctor shows which channel did'
  rm -f "$bin/gongfu" "$bin/.gongfu-channel"
  printf 'removed %s\n' "$bin/gongfu"
}

[ -n "${GONGFU_BIN:-}${HOME:-}" ] || fail 'HOME is not set' 'set GONGFU_BIN to the folder for the program'
bin=${GONGFU_BIN:-$HOME/.local/bin}
case ${1:-} in
  '') install ;;
  --uninstall) uninstall ;;
  *) fail "unknown argument $1" 'pass nothing, or --uninstall' ;;
esac
