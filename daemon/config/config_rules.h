/* daemon/config/config_rules.h: private to config*.c: each option as one row of a table, from which reading, printing,
 * comparing and exchanging follow, and what one reading carries along.
 *
 * base is the struct that a section fills: a cop_config, or a cop_config_model in model sections. Pure data and
 * functions of their arguments. */
#ifndef COP_DAEMON_CONFIG_CONFIG_RULES_H
#define COP_DAEMON_CONFIG_CONFIG_RULES_H

#include <confuse.h>

#include "daemon/config/config.h"
#include "events/feature_space.h"

/* Kinds of options beside those of online/setting.h. */
enum {
	COP_KIND_TEXT = COP_SETTING_OTHER + 1, /* char *, not empty */
	COP_KIND_FACILITY,                     /* char *, a syslog facility */
	COP_KIND_LISTEN,                       /* char *, ADDRESS:PORT */
	COP_KIND_BIND,                         /* cop_config_list of endpoints */
	COP_KIND_CONNECT,
	COP_KIND_LISTENERS, /* cop_config_list of ADDRESS:PORT */
	COP_KIND_NAMES      /* cop_config_list of models' names */
};

typedef struct cop_config_section {
	const char *name;         /* "": the file itself */
	const cop_setting *rules; /* the last one has no name */
	const cop_setting *own;   /* fields of those rules that are COP_SETTING_OTHER, by name */
} cop_config_section;

#define COP_CONFIG_PATH     4096
#define COP_CONFIG_SECTIONS 10

extern const cop_config_section cop_config_sections[COP_CONFIG_SECTIONS]; /* of a cop_config */
extern const cop_config_section cop_config_model_section;
extern const cop_config_section cop_config_refit_section; /* in a model's; of a cop_config_model */

/* The field of such a rule is a cop_config_list. */
static inline bool cop_config_rules_is_list(const cop_setting *rule) { return rule->kind >= COP_KIND_BIND; }
/* Rule i. */
cop_setting cop_config_rules_at(const cop_config_section *section, size_t i);

/* Everything not given. Texts are left NULL. */
void cop_config_defaults(cop_config *config);
/* For the learner and the features of model->set, which was initialised. */
void cop_config_model_defaults(cop_config_model *model);
/* Is the section in the file of this configuration to be printed? */
bool cop_config_section_shown(const cop_config_section *section, const cop_config *config);

/* conf/demo.conf, compiled in. */
extern const unsigned char cop_demo_conf[];
extern const size_t cop_demo_conf_length;

/* One value as it stands in the file. */
typedef struct cop_config_text {
	uint64_t line;
	char text[];
} cop_config_text;

/* An option or section that the scan has met. */
typedef struct cop_config_met {
	const void *option;
	uint64_t line;
	const cfg_t *section; /* that it stands in */
} cop_config_met;
#define COP_CONFIG_MET 144 /* options of three sections */

typedef struct cop_config_reading {
	cop_config_report *report;
	const char *source;
	const char *folder;
	cop_config_origin origin;
	const char *state_dir;        /* once it is known; kept */
	const cop_live_changes *live; /* to be read as if they stood in the file; NULL: none */
	bool merging;                 /* they are being put there */
	cop_bytes checkpoint;         /* the newest one's body, when it was looked for: */
	bool checkpoint_read;
	const cop_config_list *arms; /* their names, of the model under way; NULL: what may name them is left out */
	bool adopted;                /* what the model under way does not say comes from saved state */
	bool wrong;                  /* something was reported */
	bool out_of_memory;          /* and so nothing else counts */
	uint64_t lines;              /* of the text */
	const cfg_t *root;           /* of the scan */
	cop_config_met met[COP_CONFIG_MET]; /* at the top, then in each open section, the outermost first */
	size_t met_count;
} cop_config_reading;

/* Adds "option: message" at a line; an empty option stands for the whole file. */
void cop_config_complain(cop_config_reading *reading, uint64_t line, const char *option, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* Of what was changed live. */
#define COP_CONFIG_LIVE_LINE ((uint64_t)1 << 30)
/* Complains of environment variables that the text names and that are not set. */
void cop_config_check_variables(cop_config_reading *reading, const char *text, size_t length);

/* Where the option's last value stands, or where the section ends; 0 for the file itself. */
uint64_t cop_config_line(cfg_t *section, const char *option);
bool cop_config_has(cfg_t *section, const char *option);

/* Reads all values of the option into base, or complains and leaves base as it is. */
void cop_config_value_read(cop_config_reading *reading, cfg_t *section, const cop_setting *rule, void *base);
/* Appends the value as the file would have it; nothing for a text that is not set. */
void cop_config_value_print(const cop_setting *rule, const void *base, cop_bytes *out);
bool cop_config_value_set(const cop_setting *rule, const void *base);
bool cop_config_value_equal(const cop_setting *rule, const void *a, const void *b);
void cop_config_value_swap(const cop_setting *rule, void *a, void *b);
void cop_config_value_free(const cop_setting *rule, void *base);
void cop_config_list_free(cop_config_list *list);
bool cop_config_list_equal(const cop_config_list *a, const cop_config_list *b);

/* What single values cannot show: shapes, ranges against each other, missing options, name files. */
void cop_config_check(cop_config_reading *reading, cfg_t *root, cop_config *config);
void cop_config_check_model(
        cop_config_reading *reading, cfg_t *section, const cop_config_model *model, bool learner_known);
/* The files of names that a model may have: the option, whose text and list are so far into cop_config_model, and what
 * is named. */
typedef struct cop_config_names {
	const char *option;
	size_t text, list;
	size_t count; /* of cop_learner_settings: offset of a size_t */
} cop_config_names;
#define COP_CONFIG_NAMES 3
extern const cop_config_names cop_config_name_files[COP_CONFIG_NAMES]; /* arms last */
char *const *cop_config_rules_names_text(const cop_config_names *names, const cop_config_model *model);
cop_config_list *cop_config_rules_names_list(const cop_config_names *names, const cop_config_model *model);

/* Of the arms, before what may name them is read; then the others, and start_from. */
void cop_config_rules_read_arm_names(cop_config_reading *reading, cfg_t *section, cop_config_model *model);
void cop_config_read_names(cop_config_reading *reading, cfg_t *section, cop_config_model *model);

/* A path as written, seen from the configuration's folder. False: none, or too long, which is complained of. */
bool cop_config_locate(cop_config_reading *reading, cfg_t *section, const char *option, char path[COP_CONFIG_PATH]);

/* Saved state that a model with start_from begins with, or goes on from. */
typedef struct cop_config_adopted {
	bool found;
	bool from_file;           /* the one that start_from names */
	bool missing;             /* there should be some: complained of */
	cop_config_model was;     /* its saved options; texts and lists mean nothing */
	cop_feature_space *space; /* the file's, NULL: none; freed by the check */
	cop_config_list arms;     /* names of a trained model's classes; taken by cop_config_rules_adopt_arms */
	char path[COP_CONFIG_PATH];
} cop_config_adopted;

/* model: its names are known. */
void cop_config_adopt_find(
        cop_config_reading *reading, cfg_t *section, const cop_config_model *model, cop_config_adopted *out);
/* Into a model of the same learner, before what the section says itself. */
void cop_config_adopt_take(const cop_config_adopted *adopted, cop_config_model *model);
/* Names of arms, unless the section names a file of them. */
void cop_config_rules_adopt_arms(cop_config_adopted *adopted, cop_config_model *model);
/* Complains of what the section says otherwise than the file. */
void cop_config_adopt_check(
        cop_config_reading *reading, cfg_t *section, cop_config_adopted *adopted, const cop_config_model *model);

#endif
