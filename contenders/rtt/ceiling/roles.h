#ifndef ROLES_H
#define ROLES_H

#include "rtt.h"

noreturn void run_ping(struct nd_rtt *rtt);
noreturn void run_pong(struct nd_rtt *rtt);

#endif
