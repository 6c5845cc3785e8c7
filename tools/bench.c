#include "command.h"
int cop_bench_command(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 1;
}
