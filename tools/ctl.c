#include "command.h"
int cop_ctl_command(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 1;
}
