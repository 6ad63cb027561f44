# app/setup.sh: what app/run and tests/run share. To be sourced by bash; defines functions only.
#
#   psc_setup WORD...   installs the packages of app/packages.txt that carry one of the words and are
#                       missing, on Debian and its relatives, as root or with sudo. Elsewhere, or when
#                       that fails, it says what to install and goes on: the build itself is the judge.
#   psc_build DIR TARGET ARG...  meson setup (once, with the arguments) and compile; incremental.

psc_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)

psc_say() { printf '==> %s\n' "$*" >&2; }

psc_packages() {
    local word package words=" $* "
    while read -r word package; do
        case $word in '' | '#'*) continue ;; esac
        case $words in *" $word "*) printf '%s\n' "$package" ;; esac
    done < "$psc_root/app/packages.txt"
}

psc_setup() {
    local package need=() as=()
    if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
        psc_tools && return 0
        psc_say "this is no Debian: please install what these Debian packages hold, then run this again:"
        psc_packages "$@" | fmt -w 100 >&2
        return 0
    fi
    while read -r package; do
        [[ $(dpkg-query -W -f='${Status}' "$package" 2> /dev/null) == *' installed' ]] || need+=("$package")
    done < <(psc_packages "$@")
    [ ${#need[@]} -eq 0 ] && return 0

    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo > /dev/null; then
            psc_say "missing, and neither root nor sudo to install it. Please run as root:"
            psc_say "  apt-get install --no-install-recommends ${need[*]}"
            return 0
        fi
        as=(sudo)
    fi
    psc_say "installing ${#need[@]} packages: ${need[*]}"
    "${as[@]}" apt-get update -q >&2 || psc_say "apt-get update failed; trying with the lists that are there"
    if ! "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${need[@]}" >&2; then
        psc_say "not everything could be installed; going on with what is there"
    fi
}

# Is everything there that a build cannot do without?
psc_tools() {
    local tool
    for tool in cc meson ninja pkg-config python3; do
        command -v "$tool" > /dev/null || return 1
    done
    pkg-config --exists libcjson cairo pangocairo glib-2.0
}

psc_build() {
    local dir=$1 target=$2
    shift 2
    if [ ! -f "$dir/build.ninja" ]; then
        command -v meson > /dev/null || { psc_say "meson is missing"; return 1; }
        psc_say "configuring $dir"
        if ! meson setup "$@" "$dir" "$psc_root" > "$dir.log" 2>&1; then
            cat "$dir.log" >&2
            return 1
        fi
        mv -f "$dir.log" "$dir/setup.log"
    fi
    psc_say "compiling in $dir"
    ninja -C "$dir" "$target" >&2
}
