#include "command.h"
int cop_inspect_command(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 1;
}
