# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Certificates of tests, made by openssl. CERTS is the directory.

certs_ca() { # NAME: NAME.ca and its key
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$CERTS/$1.ca_key" -days 30 -subj "/CN=cachew test $1" \
        -out "$CERTS/$1.ca" 2>/dev/null
}
# certs_make FILE CA NAMES [SECONDS]: FILE.crt and FILE.key with these DNS names ("a b"), in place of what was there; SECONDS: valid for so
# long from a moment ago (negative: it has expired).
certs_make() {
    local file=$CERTS/$1 ca=$CERTS/$2 names
    # shellcheck disable=SC2086
    names=$(printf 'DNS:%s,' $3)
    openssl ecparam -name prime256v1 -genkey -noout -out "$file.key_new" 2>/dev/null || return 1
    chmod 600 "$file.key_new"
    openssl req -new -key "$file.key_new" -subj "/CN=$1" -out "$file.csr" 2>/dev/null || return 1
    printf 'subjectAltName=%s\n' "${names%,}" >"$file.ext"
    : >"$file.index"
    openssl ca -batch -config /dev/stdin -name it -in "$file.csr" -out "$file.crt_new" -extfile "$file.ext" -notext \
        -startdate "$(date -u -d '2 days ago' +%y%m%d%H%M%SZ)" -enddate "$(date -u -d "${4:-86400} seconds" +%y%m%d%H%M%SZ)" 2>"$file.why" <<END || { cat "$file.why"; return 1; }
[it]
database = $file.index
new_certs_dir = $CERTS
private_key = $ca.ca_key
certificate = $ca.ca
default_md = sha256
policy = any
unique_subject = no
rand_serial = yes
[any]
commonName = supplied
END
    mv "$file.key_new" "$file.key"
    mv "$file.crt_new" "$file.crt"
}
