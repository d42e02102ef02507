#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A wheel of the source distribution alone: it is built, its libraries are put in and its platform is checked (auditwheel), its ABI is
# (abi3audit), and it runs in Debian's Python and in the newest one that is here, with nothing else of cachew. WHEEL: one that
# is there already.
. "$(dirname "$0")/lib.sh"

audit() { /usr/bin/python3 -m "$@" 2>&1; }
# make: sets `wheel`, made of the source distribution in $root.
make() {
    "$CMAKE" --build "$tree" --target sdist >"$work/sdist.log" 2>&1 || fail "there is no sdist: $(tail -n 3 "$work/sdist.log")"
    rm -rf "$root" && mkdir -p "$root"
    tar -xzf "$tree"/libcachew-*.tar.gz -C "$root" --strip-components 1
    [ ! -e "$root/tests" ] && [ -f "$root/PKG-INFO" ] || fail "the sdist has other files"
    if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache; fi
    /usr/bin/python3 -m pip wheel --no-deps --no-build-isolation -w "$root/made" "$root" >"$work/pip.log" 2>&1 || fail "no wheel: $(tail -n 30 "$work/pip.log")"
    audit auditwheel repair --plat manylinux_2_34_x86_64 -w "$root/made" "$root"/made/*-linux_x86_64.whl >"$work/repair.log" || fail "$(<"$work/repair.log")"
    wheel=$(ls "$root"/made/libcachew-*-cp311-abi3-manylinux_2_34_x86_64.whl) || fail "auditwheel made another one: $(ls "$root/made")"
}
case_from_sdist() {
    pypi wheel
    local root=$tree/wheel wheel python newest site=$tree/wheel_site
    export PYTHONPATH=$packages PATH=$packages/bin:$PATH
    wheel=${WHEEL-}
    [ -n "$wheel" ] || make
    audit auditwheel show "$wheel" | says 'manylinux_2_34_x86_64' || fail "$(audit auditwheel show "$wheel")"
    audit abi3audit --strict "$wheel" >"$work/abi3.log" || fail "$(<"$work/abi3.log")"
    [ "$(stat -c %s "$wheel")" -le $((25 * 1000 * 1000)) ] || fail "the wheel has $(stat -c %s "$wheel") bytes"
    newest=$(newest_python) || exit 1
    for python in /usr/bin/python3 "$newest"; do
        rm -rf "$site"
        local pip=("$site/bin/python" -m pip) without=()
        if ! "$python" -c 'import ensurepip' 2>/dev/null; then # Debian's has it in a package of its own
            pip=(/usr/bin/python3 -m pip --python "$site/bin/python") without=(--without-pip)
        fi
        PYTHONPATH='' "$python" -m venv "${without[@]}" "$site" || fail "no environment of $python"
        PYTHONPATH='' "${pip[@]}" install --quiet --disable-pip-version-check --root-user-action ignore "$wheel" numpy >"$work/pip.log" 2>&1 ||
            fail "$(<"$work/pip.log")"
        (cd / && env -u CACHEW_BIN_DIR -u PYTHONPATH "$site/bin/python" "$here/wheel_cases.py") || fail "in $python"
        env -u PYTHONPATH "$site/bin/cachew" --version | says '^cachew ' || fail "the command cachew does not run"
    done
    echo "wheel $(stat -c %s "$wheel") bytes, installed $(du -scb "$site"/lib/python3*/site-packages/libcachew* | tail -n 1 | cut -f 1) bytes"
}

run_case "$@"
