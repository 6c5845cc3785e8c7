/* A page that is drawn goes to the place of the oldest one. While the job runs nothing of what it works on is looked
 * at. */
#include "daemon/report/model_view.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "online/model_page.h"

static void clear_names(cop_model_view *view)
{
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN; i++) {
		cop_model_page_names_given_fini(&view->names[i]);
		view->names[i].file = NULL;
	}
}

static void clear_page(cop_model_view_page *page)
{
	cop_bytes_fini(&page->html);
	*page = (cop_model_view_page){ .err = COP_OK };
}

void cop_model_view_fini(cop_model_view *view)
{
	cop_job_finish(&view->job);
	clear_names(view);
	cop_bytes_fini(&view->saved);
	clear_page(&view->drawn);
	for (size_t i = 0; i < COP_MODEL_VIEW_PAGES; i++)
		clear_page(&view->page[i]);
}

/* The thread's. */
static void draw(void *context)
{
	cop_model_view *view = context;
	cop_model_page page = { .only_tree = UINT64_MAX };
	cop_model_view_page *drawn = &view->drawn;
	drawn->err = cop_model_page_begin(&page);
	if (drawn->err == COP_OK)
		drawn->err = cop_model_page_saved(
		        &page, view->title, view->names, view->saved.data, view->saved.length, &drawn->why);
	if (drawn->err == COP_OK)
		drawn->err = cop_model_page_put(&page, view->title, view->about, &drawn->html);
	cop_model_page_fini(&page);
}

static void take_drawn(cop_model_view *view)
{
	if (!view->job.started)
		return;
	cop_job_finish(&view->job);
	cop_model_view_page *oldest = &view->page[0];
	for (size_t i = 0; i < COP_MODEL_VIEW_PAGES; i++) {
		cop_model_view_page *page = &view->page[i];
		if (strcmp(page->model, view->drawn.model) == 0) {
			oldest = page;
			break;
		}
		if (page->at < oldest->at)
			oldest = page;
	}
	clear_page(oldest);
	*oldest = view->drawn;
	view->drawn = (cop_model_view_page){ .err = COP_OK };
	cop_bytes_fini(&view->saved);
	clear_names(view);
}

/* A copy: a reload may exchange the configuration's while the thread draws. */
static cop_err copy_names(const cop_config_list *list, cop_model_page_given *given)
{
	if (list->count == 0)
		return COP_OK;
	given->name = cop_mem_alloc(list->count, sizeof *given->name);
	if (given->name == NULL)
		return COP_ENOMEM;
	given->file = "configuration";
	for (; given->count < list->count; given->count++) {
		given->name[given->count] = cop_mem_strdup(list->items[given->count]);
		if (given->name[given->count] == NULL)
			return COP_ENOMEM;
	}
	return COP_OK;
}

static cop_err start(cop_model_view *view, const cop_model_slot *slot, double now, double real)
{
	const cop_config_list *lists[COP_MODEL_PAGE_GIVEN] = {
		[COP_MODEL_PAGE_FEATURES] = &slot->config->feature_name_list,
		[COP_MODEL_PAGE_CANDIDATES] = &slot->config->candidate_name_list,
		[COP_MODEL_PAGE_ARMS] = &slot->config->arm_name_list,
	};
	time_t seconds = (time_t)real;
	struct tm utc;
	clear_page(&view->drawn);
	cop_bytes_init(&view->drawn.html);
	cop_bytes_init(&view->saved);
	view->drawn.at = now;
	(void)snprintf(view->drawn.model, sizeof view->drawn.model, "%s", slot->name);
	(void)snprintf(view->title, sizeof view->title, "%s", slot->name);
	view->about[0] = '\0';
	if (gmtime_r(&seconds, &utc) != NULL)
		(void)strftime(view->about, sizeof view->about, "as it served at %Y-%m-%d %H:%M:%S UTC", &utc);
	cop_err err = COP_OK;
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN && err == COP_OK; i++)
		err = copy_names(lists[i], &view->names[i]);
	if (err == COP_OK) {
		cop_model_slot_save(slot, &view->saved);
		err = view->saved.err;
	}
	if (err == COP_OK)
		err = cop_job_start(&view->job, draw, view);
	if (err != COP_OK) {
		clear_names(view);
		cop_bytes_fini(&view->saved);
	}
	return err;
}

static const cop_model_view_page *find(const cop_model_view *view, const char *model, double now)
{
	for (size_t i = 0; i < COP_MODEL_VIEW_PAGES; i++)
		if (strcmp(view->page[i].model, model) == 0 && now - view->page[i].at < COP_MODEL_VIEW_SECONDS)
			return &view->page[i];
	return NULL;
}

const cop_model_view_page *cop_model_view_ask(cop_model_view *view, const cop_model_slot *slot, double now, double real)
{
	bool busy = cop_job_is_busy(&view->job);
	if (!busy)
		take_drawn(view);
	const cop_model_view_page *page = find(view, slot->name, now);
	if (page != NULL || busy)
		return page;
	cop_err err = start(view, slot, now, real);
	if (err == COP_OK)
		return NULL; /* what is drawn is the thread's */
	view->drawn.err = err;
	return &view->drawn;
}
