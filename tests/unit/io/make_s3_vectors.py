#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes s3_vectors.h: requests as botocore makes and signs them. Run by hand where botocore is; it asks no server.

The URL of each is taken from a client, which is stopped before it sends; it is signed by botocore's signer with the headers of our request.
"""
import datetime
import sys

import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.session

NOW = datetime.datetime(2024, 2, 29, 23, 59, 58)
ID, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a/long+token=="
botocore.auth.get_current_datetime = lambda *args, **kwargs: NOW


class Stop(Exception):
    pass


def url_of(endpoint, style, region, call, arguments):
    session = botocore.session.Session()
    session.set_credentials(ID, SECRET)
    client = session.create_client("s3", region_name=region, endpoint_url=endpoint, config=botocore.config.Config(s3={"addressing_style": style}))
    seen = []

    def stop(request, **_):
        seen.append(request.url)
        raise Stop

    client.meta.events.register("before-send.s3.*", stop)
    try:
        getattr(client, call)(**arguments)
    except Stop:
        pass
    return seen[0]


def sign(url, headers, region, token):
    request = botocore.awsrequest.AWSRequest(method="GET", url=url, headers=headers)
    botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(ID, SECRET, token), "s3", region).add_auth(request)
    return request.headers["Authorization"]


def quoted(text):
    return "NULL" if text is None else '"%s"' % "".join(c if c not in '"\\' else "\\" + c for c in text)


def c_string(text):
    return '"%s"' % "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else "\\%03o" % b for b in text.encode())


def main():
    keys = ["a", "train/shard-000.tar", "with space+plus.bin", "ümlaut/日本.bin", "~tilde-_.!*'()", "a%2Fb;c=d&e,f:@$#?[x]{y}|\\^`", "trailing/"]
    print("/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by make_s3_vectors.py with botocore %s. */" % botocore.__version__)
    print("static const struct vector vectors[] = {")
    places = [(None, "virtual", "eu-west-1"), (None, "path", "us-west-2"), ("http://127.0.0.1:9000", "path", "us-east-1"),
              ("https://store.example:443/base", "path", "here"), ("http://store.example", "virtual", "here")]
    for endpoint, style, region in places:
        for n, key in enumerate(keys):
            url = url_of(endpoint, style, region, "get_object", {"Bucket": "my-bucket", "Key": key})
            token = TOKEN if n % 2 else None
            headers = {"Range": "bytes=%d-%d" % (n, 1000 * n)}
            if n % 3 == 1:
                headers["If-Match"] = '"0123abc-%d"' % n
            if n % 3 == 2:
                headers["If-Unmodified-Since"] = "Thu,  01 Jan 1970 00:00:01 GMT"
            emit(endpoint, style, region, token, "s3://my-bucket/" + key, None, headers, url, sign(url, headers, region, token))
        for arguments in [{}, {"ContinuationToken": "1/Ab+c=="}]:
            prefix = "train/ü +x"
            arguments = dict(arguments, Bucket="my-bucket", Prefix=prefix, MaxKeys=1000, EncodingType="url")
            url = url_of(endpoint, style, region, "list_objects_v2", arguments)
            # botocore signs the query sorted, whatever its order in the URL.
            path, query = url.split("?")
            url = path + "?" + "&".join(sorted(query.split("&")))
            emit(endpoint, style, region, None, "s3://my-bucket", url.split("?")[1], {}, url, sign(url, {}, region, None))
    print("};")


def emit(endpoint, style, region, token, ours, query, headers, url, authorization):
    rows = [c_string("%s: %s" % item) for item in headers.items()] + ["NULL"] * (2 - len(headers))
    texts = [endpoint, style, region, token]
    print("    {%s, %s, %s, {%s}," % (", ".join("NULL" if t is None else c_string(t) for t in texts), c_string(ours),
                                       "NULL" if query is None else c_string(query), ", ".join(rows)))
    print("     %s,\n     %s}," % (c_string(url.replace(":443/", "/")), c_string(authorization)))


sys.exit(main())
