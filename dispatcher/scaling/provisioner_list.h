/* SPDX-License-Identifier: Apache-2.0 */
/* Every provisioner: CW_PROVISION(name): cw_provision_NAME of provisioner_NAME.c, where
 * NAME is what the option --provisioner is given. */
CW_PROVISION(external)
CW_PROVISION(none)
CW_PROVISION(process)
