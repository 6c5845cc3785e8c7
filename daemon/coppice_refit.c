/* coppice-refit: fits one challenger for the daemon, which starts it. Exit status: as of cop_worker_main. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/refit/worker.h"

static const char usage_text[] = "usage: coppice-refit --version | --help | --NAME=VALUE ...\n\n"
                                 "Fits trees to the journal of one model, and writes a challenger into the state\n"
                                 "folder. coppiced starts it when a refit is due; it is not for use by hand.\n";

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)puts("coppice-refit " COP_VERSION);
		return EXIT_SUCCESS;
	}
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		(void)fputs(usage_text, stdout);
		return EXIT_SUCCESS;
	}
	return cop_worker_main(argc, argv, NULL);
}
