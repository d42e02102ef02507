/* SPDX-License-Identifier: Apache-2.0 */
/* Every provisioner, as CW_PROVISION(name). The file provisioner_NAME.c, or the module
 * kubernetes/, defines cw_provision_NAME, and NAME is the value of the option --provisioner. */
CW_PROVISION(external)
CW_PROVISION(kubernetes)
CW_PROVISION(none)
CW_PROVISION(process)
