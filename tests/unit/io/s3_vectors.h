/* SPDX-License-Identifier: Apache-2.0 */
/* Made by make_s3_vectors.py with botocore 1.44.8. */
static const struct vector vectors[] = {
    {NULL,
     "virtual",
     "eu-west-1",
     NULL,
     "s3://my-bucket/a",
     NULL,
     {"Range: bytes=0-0", NULL},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/a",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=b745618053599e2463be497ca8342e1d1b32b0b87dd173865a6d3f7033acbb9b"},
    {NULL,
     "virtual",
     "eu-west-1",
     "a/long+token==",
     "s3://my-bucket/train/shard-000.tar",
     NULL,
     {"Range: bytes=1-1000", "If-Match: \0420123abc-1\042"},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/train/shard-000.tar",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=52071e9547f27eb74cb779c0e0b03c822478e93e630c4918ab3309465de26852"},
    {NULL,
     "virtual",
     "eu-west-1",
     NULL,
     "s3://my-bucket/with space+plus.bin",
     NULL,
     {"Range: bytes=2-2000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/with%20space%2Bplus.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date, "
     "Signature=0d793e06f8354c8914c43782b8f808183cef1a63a86aef58d37c05e5af89e5c7"},
    {NULL,
     "virtual",
     "eu-west-1",
     "a/long+token==",
     "s3://my-bucket/\303\274mlaut/\346\227\245\346\234\254.bin",
     NULL,
     {"Range: bytes=3-3000", NULL},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/%C3%BCmlaut/%E6%97%A5%E6%9C%AC.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=c459de0f7f9926b7e9ee73b1063b8f9cbf93b6db412d1f92728696c8f77a51ea"},
    {NULL,
     "virtual",
     "eu-west-1",
     NULL,
     "s3://my-bucket/~tilde-_.!*'()",
     NULL,
     {"Range: bytes=4-4000", "If-Match: \0420123abc-4\042"},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/~tilde-_.%21%2A%27%28%29",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date, "
     "Signature=e81fc7f4c79c959398c114e640fb595a4a63ff22ce4f558504dc573bffcc081d"},
    {NULL,
     "virtual",
     "eu-west-1",
     "a/long+token==",
     "s3://my-bucket/a%2Fb;c=d&e,f:@$#\077[x]{y}|\134^`",
     NULL,
     {"Range: bytes=5-5000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/"
     "a%252Fb%3Bc%3Dd%26e%2Cf%3A%40%24%23%3F%5Bx%5D%7By%7D%7C%5C%5E%60",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date;x-amz-security-"
     "token, Signature=a6e5df9b93daee7d02387a15e41da21a0420086d459d7556b93225655ac5b8b9"},
    {NULL,
     "virtual",
     "eu-west-1",
     NULL,
     "s3://my-bucket/trailing/",
     NULL,
     {"Range: bytes=6-6000", NULL},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/trailing/",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=8a409c4e023338c6727f322a83a0f3c64919abf7d61528b0d875571f074073e5"},
    {NULL,
     "virtual",
     "eu-west-1",
     NULL,
     "s3://my-bucket",
     "encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/"
     "\077encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=acca406e2689b21ffd95956760bdef9ac833f248e8fda14782a7c5b59ff92e57"},
    {NULL,
     "virtual",
     "eu-west-1",
     NULL,
     "s3://my-bucket",
     "continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&prefix=train%"
     "2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "https://my-bucket.s3.eu-west-1.amazonaws.com/"
     "\077continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&prefix="
     "train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/eu-west-1/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=f157695663e9249af38250e32a905237d5b2af66376e0f9a21e27675a14e2705"},
    {NULL,
     "path",
     "us-west-2",
     NULL,
     "s3://my-bucket/a",
     NULL,
     {"Range: bytes=0-0", NULL},
     "https://s3.us-west-2.amazonaws.com/my-bucket/a",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=a36591c7f766087fc479927caa95a4d1b0ec9c1e7b91ee1a82b51bcf2cf71b2e"},
    {NULL,
     "path",
     "us-west-2",
     "a/long+token==",
     "s3://my-bucket/train/shard-000.tar",
     NULL,
     {"Range: bytes=1-1000", "If-Match: \0420123abc-1\042"},
     "https://s3.us-west-2.amazonaws.com/my-bucket/train/shard-000.tar",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=b748da6c2f8cd7ceb67b0529f2b833e7f6be5c26a2d347b887efcc2ec7f7a7b7"},
    {NULL,
     "path",
     "us-west-2",
     NULL,
     "s3://my-bucket/with space+plus.bin",
     NULL,
     {"Range: bytes=2-2000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "https://s3.us-west-2.amazonaws.com/my-bucket/with%20space%2Bplus.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date, "
     "Signature=6e4f05c97e083c19e6e60a26a40752ce71b6442f1fa4651ed4c1c4a582f5ba7a"},
    {NULL,
     "path",
     "us-west-2",
     "a/long+token==",
     "s3://my-bucket/\303\274mlaut/\346\227\245\346\234\254.bin",
     NULL,
     {"Range: bytes=3-3000", NULL},
     "https://s3.us-west-2.amazonaws.com/my-bucket/%C3%BCmlaut/%E6%97%A5%E6%9C%AC.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=321aedcce4a1d99d36cf5268f98e46fc568c2387c7781b583db6be08e45ca606"},
    {NULL,
     "path",
     "us-west-2",
     NULL,
     "s3://my-bucket/~tilde-_.!*'()",
     NULL,
     {"Range: bytes=4-4000", "If-Match: \0420123abc-4\042"},
     "https://s3.us-west-2.amazonaws.com/my-bucket/~tilde-_.%21%2A%27%28%29",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date, "
     "Signature=7232699eb0ba2141d6fcfe9b58efd87cb1d5d9e2c1573d3ee0df41014bc44a36"},
    {NULL,
     "path",
     "us-west-2",
     "a/long+token==",
     "s3://my-bucket/a%2Fb;c=d&e,f:@$#\077[x]{y}|\134^`",
     NULL,
     {"Range: bytes=5-5000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "https://s3.us-west-2.amazonaws.com/my-bucket/"
     "a%252Fb%3Bc%3Dd%26e%2Cf%3A%40%24%23%3F%5Bx%5D%7By%7D%7C%5C%5E%60",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date;x-amz-security-"
     "token, Signature=2ea190883f2925642e7ef8ad7bcc96e0f3104979aca179c0597ab0dafabbab47"},
    {NULL,
     "path",
     "us-west-2",
     NULL,
     "s3://my-bucket/trailing/",
     NULL,
     {"Range: bytes=6-6000", NULL},
     "https://s3.us-west-2.amazonaws.com/my-bucket/trailing/",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=75d22eb11a0069d373ff2fb12aa0883d200f9a53ea36be70236a346a75c420a5"},
    {NULL,
     "path",
     "us-west-2",
     NULL,
     "s3://my-bucket",
     "encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "https://s3.us-west-2.amazonaws.com/"
     "my-bucket\077encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=ee1913ed8f84016206c7eb093c1ef9e33ff71a050ee231f288b51e6b1a2b69fe"},
    {NULL,
     "path",
     "us-west-2",
     NULL,
     "s3://my-bucket",
     "continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&prefix=train%"
     "2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "https://s3.us-west-2.amazonaws.com/"
     "my-bucket\077continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&"
     "prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-west-2/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=e43a82d6a90c63bea0c8ce83b55aba020e1f6343d6269c21021eb12444bcf082"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     NULL,
     "s3://my-bucket/a",
     NULL,
     {"Range: bytes=0-0", NULL},
     "http://127.0.0.1:9000/my-bucket/a",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=1b61724c460b3e1c16b749d0efb32c83671ae033966709c218f76e28ec9f2140"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     "a/long+token==",
     "s3://my-bucket/train/shard-000.tar",
     NULL,
     {"Range: bytes=1-1000", "If-Match: \0420123abc-1\042"},
     "http://127.0.0.1:9000/my-bucket/train/shard-000.tar",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=d3c53fe4e76443cb458e70ab1c87b9d0a3c5cd3ead44e7116cb664d706a949ae"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     NULL,
     "s3://my-bucket/with space+plus.bin",
     NULL,
     {"Range: bytes=2-2000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "http://127.0.0.1:9000/my-bucket/with%20space%2Bplus.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date, "
     "Signature=6ef314f1479c4ccaf6b1194d2f917c135b3cfd31a2cb03a99e06a902dbade42f"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     "a/long+token==",
     "s3://my-bucket/\303\274mlaut/\346\227\245\346\234\254.bin",
     NULL,
     {"Range: bytes=3-3000", NULL},
     "http://127.0.0.1:9000/my-bucket/%C3%BCmlaut/%E6%97%A5%E6%9C%AC.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=ddb8f76892a4f23aea6bba8439e1571bd35a114e2d8c08ca8f2cee9fd9ac497d"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     NULL,
     "s3://my-bucket/~tilde-_.!*'()",
     NULL,
     {"Range: bytes=4-4000", "If-Match: \0420123abc-4\042"},
     "http://127.0.0.1:9000/my-bucket/~tilde-_.%21%2A%27%28%29",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date, "
     "Signature=4fe5ee98952470319c255f66e6693e940ccba60a76dcfd30be48b22241292d96"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     "a/long+token==",
     "s3://my-bucket/a%2Fb;c=d&e,f:@$#\077[x]{y}|\134^`",
     NULL,
     {"Range: bytes=5-5000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "http://127.0.0.1:9000/my-bucket/"
     "a%252Fb%3Bc%3Dd%26e%2Cf%3A%40%24%23%3F%5Bx%5D%7By%7D%7C%5C%5E%60",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date;x-amz-security-"
     "token, Signature=d743a839ffc4c9ff4bf38b2b55a569902fb2f380c9dd6ab6861a96e61b85cff8"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     NULL,
     "s3://my-bucket/trailing/",
     NULL,
     {"Range: bytes=6-6000", NULL},
     "http://127.0.0.1:9000/my-bucket/trailing/",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=1c72ec9c1cde5d3f7300cd87b9d584f7779688b27f4c4136be87090a183cb20b"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     NULL,
     "s3://my-bucket",
     "encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "http://127.0.0.1:9000/"
     "my-bucket\077encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=013fbd0ad6eb8b4ee4bb3d02bdb4800f8623faa861c3e4a9102a226072ebc3d7"},
    {"http://127.0.0.1:9000",
     "path",
     "us-east-1",
     NULL,
     "s3://my-bucket",
     "continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&prefix=train%"
     "2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "http://127.0.0.1:9000/"
     "my-bucket\077continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&"
     "prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/us-east-1/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=62ceadfa60098473f3bb7cf75011905eca8fed95f9e463f8cbce0943911c0b00"},
    {"https://store.example:443/base",
     "path",
     "here",
     NULL,
     "s3://my-bucket/a",
     NULL,
     {"Range: bytes=0-0", NULL},
     "https://store.example/base/my-bucket/a",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=afa7f7ca5631ac532cb36b57af4549c66e4146bc832330867a29c03abd80b91b"},
    {"https://store.example:443/base",
     "path",
     "here",
     "a/long+token==",
     "s3://my-bucket/train/shard-000.tar",
     NULL,
     {"Range: bytes=1-1000", "If-Match: \0420123abc-1\042"},
     "https://store.example/base/my-bucket/train/shard-000.tar",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=47762b36f6ed39af210f930d4a7ba9b3acec40643d40d39c5491688caf323b3d"},
    {"https://store.example:443/base",
     "path",
     "here",
     NULL,
     "s3://my-bucket/with space+plus.bin",
     NULL,
     {"Range: bytes=2-2000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "https://store.example/base/my-bucket/with%20space%2Bplus.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date, "
     "Signature=ac29996cb715f763efb16a337f6045b86681634db0b6e50e56007c7fc396a3cd"},
    {"https://store.example:443/base",
     "path",
     "here",
     "a/long+token==",
     "s3://my-bucket/\303\274mlaut/\346\227\245\346\234\254.bin",
     NULL,
     {"Range: bytes=3-3000", NULL},
     "https://store.example/base/my-bucket/%C3%BCmlaut/%E6%97%A5%E6%9C%AC.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=64df35855d8dff1ddb6cfa8fbc52903a64595be8b971c1cb50b5cf44d9af270e"},
    {"https://store.example:443/base",
     "path",
     "here",
     NULL,
     "s3://my-bucket/~tilde-_.!*'()",
     NULL,
     {"Range: bytes=4-4000", "If-Match: \0420123abc-4\042"},
     "https://store.example/base/my-bucket/~tilde-_.%21%2A%27%28%29",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date, "
     "Signature=1afb3b264e293aa59dc5a29bf692db65f3193e3d3ebbacf4bdf4909ed6b2746d"},
    {"https://store.example:443/base",
     "path",
     "here",
     "a/long+token==",
     "s3://my-bucket/a%2Fb;c=d&e,f:@$#\077[x]{y}|\134^`",
     NULL,
     {"Range: bytes=5-5000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "https://store.example/base/my-bucket/"
     "a%252Fb%3Bc%3Dd%26e%2Cf%3A%40%24%23%3F%5Bx%5D%7By%7D%7C%5C%5E%60",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date;x-amz-security-"
     "token, Signature=5f7677166f528babc146fa1815398747d370bc297ca093d4ba04d2a344ebabc3"},
    {"https://store.example:443/base",
     "path",
     "here",
     NULL,
     "s3://my-bucket/trailing/",
     NULL,
     {"Range: bytes=6-6000", NULL},
     "https://store.example/base/my-bucket/trailing/",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=45b0e56062cdf15ba822d64b903f28c3d2fd34638f094f1ff6b7c2d1aab6e682"},
    {"https://store.example:443/base",
     "path",
     "here",
     NULL,
     "s3://my-bucket",
     "encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "https://store.example/base/"
     "my-bucket\077encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=c95bb589496046bb307a01ea3c350ede20ed8d3b768667350b27e0abbb2a93a9"},
    {"https://store.example:443/base",
     "path",
     "here",
     NULL,
     "s3://my-bucket",
     "continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&prefix=train%"
     "2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "https://store.example/base/"
     "my-bucket\077continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&"
     "prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=ab364eaa05d9e0734bac653143a0bedcab5699b27f33a26e9d1b42b3cb7e795c"},
    {"http://store.example",
     "virtual",
     "here",
     NULL,
     "s3://my-bucket/a",
     NULL,
     {"Range: bytes=0-0", NULL},
     "http://my-bucket.store.example/a",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=84f1602e06ffa14575fdf6d5981a638782df65f3fed752c36fa9c92fba39e0b0"},
    {"http://store.example",
     "virtual",
     "here",
     "a/long+token==",
     "s3://my-bucket/train/shard-000.tar",
     NULL,
     {"Range: bytes=1-1000", "If-Match: \0420123abc-1\042"},
     "http://my-bucket.store.example/train/shard-000.tar",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=9985b738f87dfef6d98d8aaa49e2fd26d09f3e7e3e1e380e9f2963bd4abfa3fe"},
    {"http://store.example",
     "virtual",
     "here",
     NULL,
     "s3://my-bucket/with space+plus.bin",
     NULL,
     {"Range: bytes=2-2000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "http://my-bucket.store.example/with%20space%2Bplus.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date, "
     "Signature=29ffa0d927c05645c6e939a358a8630a8a881a47819254ad7461fda49a2ccc58"},
    {"http://store.example",
     "virtual",
     "here",
     "a/long+token==",
     "s3://my-bucket/\303\274mlaut/\346\227\245\346\234\254.bin",
     NULL,
     {"Range: bytes=3-3000", NULL},
     "http://my-bucket.store.example/%C3%BCmlaut/%E6%97%A5%E6%9C%AC.bin",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
     "Signature=ffe0aea89f3074fd7045d52acd06fb27e600021780c92b55dfc046d941ea7be9"},
    {"http://store.example",
     "virtual",
     "here",
     NULL,
     "s3://my-bucket/~tilde-_.!*'()",
     NULL,
     {"Range: bytes=4-4000", "If-Match: \0420123abc-4\042"},
     "http://my-bucket.store.example/~tilde-_.%21%2A%27%28%29",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date, "
     "Signature=445fe8ef2000b8ff5eebb93fd1616d5dfcde9af4e28be8bbc0b4e0ba67792b0e"},
    {"http://store.example",
     "virtual",
     "here",
     "a/long+token==",
     "s3://my-bucket/a%2Fb;c=d&e,f:@$#\077[x]{y}|\134^`",
     NULL,
     {"Range: bytes=5-5000", "If-Unmodified-Since: Thu,  01 Jan 1970 00:00:01 GMT"},
     "http://my-bucket.store.example/"
     "a%252Fb%3Bc%3Dd%26e%2Cf%3A%40%24%23%3F%5Bx%5D%7By%7D%7C%5C%5E%60",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;if-unmodified-since;range;x-amz-content-sha256;x-amz-date;x-amz-security-"
     "token, Signature=3d15e259d255575896f14fa3f7cfa0c5898389261e4c8e4874db17b111fc6e66"},
    {"http://store.example",
     "virtual",
     "here",
     NULL,
     "s3://my-bucket/trailing/",
     NULL,
     {"Range: bytes=6-6000", NULL},
     "http://my-bucket.store.example/trailing/",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
     "Signature=9e1a1d0aee33772ab553d13e3579d1ee5b0d360740b016b0ac546507bbc85c2b"},
    {"http://store.example",
     "virtual",
     "here",
     NULL,
     "s3://my-bucket",
     "encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "http://my-bucket.store.example/"
     "\077encoding-type=url&list-type=2&max-keys=1000&prefix=train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=55695d40ad159ed94c78ee4f7d1660bfe704053f67d93c4ee53ab4d4ce8d21a2"},
    {"http://store.example",
     "virtual",
     "here",
     NULL,
     "s3://my-bucket",
     "continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&prefix=train%"
     "2F%C3%BC%20%2Bx",
     {NULL, NULL},
     "http://my-bucket.store.example/"
     "\077continuation-token=1%2FAb%2Bc%3D%3D&encoding-type=url&list-type=2&max-keys=1000&prefix="
     "train%2F%C3%BC%20%2Bx",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240229/here/s3/aws4_request, "
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
     "Signature=1ef2c9a760d433c70737e93439e61dd4c818327bb183d9b18ac7547e341d4c4e"},
};
