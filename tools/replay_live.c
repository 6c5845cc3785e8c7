#include "replay_live.h"

cop_err cop_replay_live(const cop_replay_options *options, const volatile sig_atomic_t *stop, cop_diag *diag)
{
	(void)stop;
	cop_diag_set(diag, options->live, 0, 0, "--live is not there yet");
	return COP_EINVAL;
}
