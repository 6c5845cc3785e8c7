/* Every command is run with --help. All of them read their options by cop_option_list_getopt, which prints the table
 * that getopt_long would have been given, so the list cannot differ from what is read. */
#include "option_list.h"

#include <stdio.h>
#include <string.h>

static bool listing;

int cop_option_list_print(const cop_program *program)
{
	char help[] = "--help";
	listing = true;
	for (size_t i = 0; i < program->count; i++) {
		const cop_command *command = &program->commands[i];
		char name[64];
		char *words[] = { name, help, NULL };
		(void)snprintf(name, sizeof name, "%s", command->name);
		(void)printf("command %s %s\n", command->name, command->summary);
		(void)command->run(2, words);
	}
	listing = false;
	return fflush(stdout) == 0 ? 0 : COP_EXIT_FAILED;
}

int cop_option_list_getopt(int argc, char **argv, const char *letters, const struct option *known)
{
	static const char *const arguments[] = {
		[no_argument] = "none", [required_argument] = "one", [optional_argument] = "maybe"
	};
	if (!listing)
		return getopt_long(argc, argv, letters, known, NULL);
	for (; known->name != NULL; known++)
		(void)printf("option --%s %s\n", known->name, arguments[known->has_arg]);
	for (letters += *letters == '+'; *letters != '\0'; letters++)
		if (letters[1] == ':') /* all others but -h */
			(void)printf("option -%c one\n", *letters++);
	return '?';
}

void cop_option_list_words(const char *name, const char *const *words)
{
	if (!listing)
		return;
	(void)printf("words --%s", name);
	for (; *words != NULL; words++)
		(void)printf(" %s", *words);
	(void)putchar('\n');
}
