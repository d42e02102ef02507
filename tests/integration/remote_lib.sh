# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# Servers on which sources of tests lie, bad networks before them, and what dies in the middle. After lib.sh.

# begin_nginx: serves the data set at /fashion and the photographs at /photos. Sets `server`.
begin_nginx() {
    local nginx
    nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || skip "nginx is not here"
    mkdir -p "$work/nginx"
    server=$own_host:8080
    cat >"$work/nginx/conf" <<CONF
daemon off;
worker_processes 1;
pid $work/nginx/pid;
error_log stderr;
events {}
http {
    log_format asked '\$request|\$status|\$http_range|\$http_if_match|\$http_authorization|\$connection';
    access_log $work/nginx/access asked;
    client_body_temp_path $work/nginx/body; proxy_temp_path $work/nginx/proxy; fastcgi_temp_path $work/nginx/fastcgi;
    uwsgi_temp_path $work/nginx/uwsgi; scgi_temp_path $work/nginx/scgi;
    gzip on; gzip_types *;
    server {
        listen $server;
        location /fashion/ { alias $fashion/; }
        location /photos/ { alias $work/photos/; }
        location /whole/ { alias $fashion/; max_ranges 0; }
        location /data/ { alias $work/data/; }
    }
}
CONF
    if [ "$(id -u)" = 0 ]; then sed -i '1i user root;' "$work/nginx/conf"; fi
    begin nginx "$nginx" -e stderr -p "$work/nginx" -c "$work/nginx/conf"
    ask_until "nginx answers" answers_or_gone nginx "$server"
    ! is_gone nginx || fail "nginx: $(cat "$work/nginx.log")"
}
answers_or_gone() { (exec 3<>"/dev/tcp/${2%:*}/${2##*:}") 2>/dev/null || is_gone "$1"; }
begin_proxy() { # TARGET ARGS...: sets `proxy`
    begin proxy "$(dirname "$0")/proxy.py" --listen "$own_host:0" --target "$@"
    wait_until "the proxy is ready" is_ready_or_gone proxy
    proxy=$(sed -n 's/^ready //p' "$work/proxy.out")
}
killed_in_the_middle() { # FILE
    listen=unix:$work/dispatcher.sock
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    begin_held job "$1" --epochs 2 --seed 3 --window 40
    read_batches job 300
    end w1 KILL
    end dispatcher KILL
    begin_dispatcher
    begin_worker w3
    release job
    same_batches
}

s3_secret=geheim/der+server/und/worker=
# begin_s3 [ARGS...]: serves the data set in the bucket fashion, photographs in photos; the environment says how to ask it. Sets `server`.
begin_s3() {
    mkdir -p "$work/buckets/photos"
    ln -s "$fashion" "$work/buckets/fashion"
    [ ! -d "$work/photos" ] || cp -r "$work/photos" "$work/buckets/photos/all of them+more"
    begin s3 "$(dirname "$0")/../support/s3_server.py" --listen "$own_host:0" --root "$work/buckets" --log "$work/s3.requests" --key KEYOFTEST \
        --secret "$s3_secret" --token a/session+token== "$@"
    wait_until "the server of S3 is ready" is_ready_or_gone s3
    is_ready s3 || fail "the server of S3 ended"
    server=$(sed -n 's/^ready //p' "$work/s3.out")
    mkdir "$work/aws"
    printf '[profile test]\nregion = test-1\nendpoint_url = http://%s\n' "$server" >"$work/aws/config"
    printf '[test]\naws_access_key_id = KEYOFTEST\naws_secret_access_key = %s\naws_session_token = a/session+token==\n' "$s3_secret" >"$work/aws/credentials"
    export AWS_CONFIG_FILE=$work/aws/config AWS_SHARED_CREDENTIALS_FILE=$work/aws/credentials AWS_PROFILE=test
}

gs_secret=ya29.geheim-der-server-und-worker
# begin_gs [ARGS...]: the same of Google's storage, with a service account that only the worker has.
begin_gs() {
    mkdir -p "$work/buckets/photos"
    ln -sfn "$fashion" "$work/buckets/fashion"
    [ ! -d "$work/photos" ] || [ -d "$work/buckets/photos/all of them+more" ] || cp -r "$work/photos" "$work/buckets/photos/all of them+more"
    begin gs "$(dirname "$0")/../support/gs_server.py" --listen "$own_host:0" --root "$work/buckets" --log "$work/gs.requests" --account "$work/account.json" \
        --secret "$gs_secret" "$@"
    wait_until "the server of Google's storage is ready" is_ready_or_gone gs
    is_ready gs || fail "the server of Google's storage ended"
    server=$(sed -n 's/^ready //p' "$work/gs.out")
    export STORAGE_EMULATOR_HOST=$server GOOGLE_APPLICATION_CREDENTIALS=$work/account.json
}
