#!/usr/bin/env bash
#
# Builds a guest image: build.sh [--dir DIR] [NAME]. Progress goes to stderr; the last line on stdout is the
# sha256 of the manifest (what image_digest in node.toml pins).
#
# A recipe is a folder beside this file with a build.sh that is sourced and defines two functions:
#   recipe_check   notes what the host must have (need_root, need_tool, need_file); no work yet
#   recipe_build   writes $STAGE/disk (qcow2), $STAGE/kernel and $STAGE/initrd, notes packages with
#                  package_note, and sets IMAGE_LABELS (an array of KEY=VALUE), IMAGE_CMDLINE and, where they
#                  differ from the defaults here, IMAGE_WIDTH, IMAGE_HEIGHT, IMAGE_TEST_ONLY, IMAGE_INPUT_HELPER
# $RECIPE is its folder, $WORK a scratch folder. lib.sh has everything else.
#
# SOURCE_DATE_EPOCH, where set, becomes the time of files and of the manifest.
set -euo pipefail
umask 022
export LC_ALL=C

RECIPES=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
# shellcheck source=lib.sh
source "$RECIPES/lib.sh"

usage() {
    cat <<END
usage: build.sh [--dir DIR] [NAME]
       build.sh --recipe-digest [NAME]

Builds a guest image and prints the sha256 of its manifest.

  NAME              berthos-linux-desktop:v1 (the default) or, in a source tree, berthos-test-guest:v1
  --dir DIR         where the image goes (default /var/lib/berthos/images)
  --recipe-digest   print the digest of what decides the image (the files of its recipe), build nothing
  --help            print this

Debian packages are kept in /var/cache/berthos (or the user's cache folder) between builds.
END
}

wrong_usage() {
    printf 'build.sh: %s\n' "$1" >&2
    usage >&2
    exit 2
}

IMAGE_DIR=/var/lib/berthos/images
IMAGE_NAME=''
DIGEST_ONLY=no
while (($# > 0)); do
    case $1 in
    --dir)
        (($# > 1)) || wrong_usage "--dir needs a folder."
        IMAGE_DIR=$2
        shift
        ;;
    --dir=*) IMAGE_DIR=${1#--dir=} ;;
    --recipe-digest) DIGEST_ONLY=yes ;;
    --help) usage && exit 0 ;;
    -*) wrong_usage "there is no option $1." ;;
    *)
        [[ -z $IMAGE_NAME ]] || wrong_usage "one name at a time ('$IMAGE_NAME' and '$1' were given)."
        IMAGE_NAME=$1
        ;;
    esac
    shift
done
IMAGE_NAME=${IMAGE_NAME:-berthos-linux-desktop:v1}
case $IMAGE_NAME in
berthos-linux-desktop:v1) RECIPE=$RECIPES/desktop ;;
berthos-test-guest:v1) RECIPE=$RECIPES/test-guest ;;
*) wrong_usage "there is no recipe for '$IMAGE_NAME'." ;;
esac
[[ -f $RECIPE/build.sh ]] ||
    fail "the recipe of $IMAGE_NAME is not installed, for only tests have a use for it: run vmimage/build.sh --dir DIR $IMAGE_NAME in a source tree of Berthos."
[[ -n $IMAGE_DIR ]] || wrong_usage "--dir needs a folder."
IMAGE_DIR=$(realpath --canonicalize-missing -- "$IMAGE_DIR")
IMAGE_STEM=$(image_stem "$IMAGE_NAME")
IMAGE_LABELS=()
IMAGE_CMDLINE=''
IMAGE_WIDTH=1280
IMAGE_HEIGHT=800
IMAGE_TEST_ONLY=false
IMAGE_INPUT_HELPER=false
BUILD_EPOCH=${SOURCE_DATE_EPOCH:-1700000000}
if ((EUID == 0)); then
    CACHE_DIR=/var/cache/berthos
else
    CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/berthos
fi

if [[ $DIGEST_ONLY == yes ]]; then
    recipe_digest
    exit 0
fi

# shellcheck source=/dev/null
source "$RECIPE/build.sh"
need_tool apt-get apt
need_tool dpkg-deb dpkg
need_tool depmod kmod
need_tool cpio cpio
need_tool xz xz-utils
need_tool qemu-img qemu-utils
recipe_check
need_check
say "building $IMAGE_NAME"
workspace_open
recipe_build
image_seal
