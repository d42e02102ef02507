/* SPDX-License-Identifier: Apache-2.0 */
/* Files of certificates for tests. There are two of certs_write: with OpenSSL, and in the simulation, where
 * certificates are texts. */
#ifndef TESTS_UNIT_RPC_CERTS_H
#define TESTS_UNIT_RPC_CERTS_H

/* Writes DIR/WHO.crt and DIR/WHO.key: a certificate with these names ("a b") that the CA `ca` has signed,
 * and DIR/CA.ca, the certificate of that. */
void certs_write(const char *dir, const char *who, const char *ca, const char *names);

#endif
