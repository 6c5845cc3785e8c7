/* The page holds its style sheet, its script and its data and loads nothing. Text is escaped where it enters the
 * page; in the data every < becomes \u003c, so that no text ends the script element. */
#include "view/view_frame.h"

#include <string.h>

#include "view/tree_phrases.h"
#include "view/view_page.h"

static void put_html(cop_bytes *out, const char *html) { cop_bytes_put(out, html, strlen(html)); }

void cop_view_frame_escaped(const char *text, size_t length, cop_bytes *out)
{
	for (size_t i = 0; i < length; i++) {
		const char *entity = text[i] == '<'   ? "&lt;"
		                     : text[i] == '>' ? "&gt;"
		                     : text[i] == '&' ? "&amp;"
		                     : text[i] == '"' ? "&quot;"
		                                      : NULL;
		if (entity != NULL)
			cop_bytes_put(out, entity, strlen(entity));
		else
			cop_bytes_put(out, &text[i], 1);
	}
}

void cop_view_frame_words(const char *text, cop_bytes *out)
{
	cop_bytes clean;
	cop_bytes_init(&clean);
	cop_tree_phrases_clean(text, &clean);
	if (clean.err == COP_OK)
		cop_view_frame_escaped((const char *)clean.data, clean.length, out);
	else
		out->err = out->err == COP_OK ? clean.err : out->err;
	cop_bytes_fini(&clean);
}

void cop_view_frame_head(const char *title, cop_bytes *out)
{
	put_html(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	              "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	              "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	cop_view_frame_words(title, out);
	put_html(out, "</title>\n<style>\n");
	cop_bytes_put(out, cop_view_page_css, cop_view_page_css_length);
	put_html(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
	cop_view_frame_words(title, out);
	put_html(out, "</h1>\n");
}

void cop_view_frame_bar(cop_bytes *out)
{
	put_html(out, "<div class=\"bar\">\n"
	              "<label id=\"pick\"><span>Tree</span> <select id=\"tree\"></select></label>\n"
	              "<button type=\"button\" id=\"open\">Open all</button>\n"
	              "<button type=\"button\" id=\"close\">Close</button>\n"
	              "<button type=\"button\" id=\"layout\">As outline</button>\n"
	              "<button type=\"button\" class=\"icon\" id=\"out\" aria-label=\"Smaller\">−</button>\n"
	              "<span id=\"zoom\">100 %</span>\n"
	              "<button type=\"button\" class=\"icon\" id=\"in\" aria-label=\"Larger\">+</button>\n"
	              "<button type=\"button\" id=\"fit\">Fit</button>\n</div>\n");
}

void cop_view_frame_stage(cop_bytes *out)
{
	put_html(out, "<ul id=\"legend\" class=\"legend\"></ul>\n<div class=\"stage\">\n<div id=\"scroll\"></div>\n"
	              "<section id=\"detail\" aria-label=\"What is chosen\" aria-live=\"polite\"></section>\n</div>\n"
	              "<p id=\"status\" role=\"status\" class=\"soft\"></p>\n"
	              "<p class=\"soft keys\">Arrow keys: up and down go through the tree, right opens, left closes or "
	              "goes to the parent; * opens everything below. Drag to move the picture.</p>\n");
}

/* JSON whose only < are inside strings. */
static void put_inert(const char *json, size_t length, cop_bytes *out)
{
	for (size_t from = 0; from < length;) {
		const char *angle = memchr(json + from, '<', length - from);
		size_t to = angle == NULL ? length : (size_t)(angle - json);
		cop_bytes_put(out, json + from, to - from);
		if (angle != NULL)
			put_html(out, "\\u003c");
		from = to + 1;
	}
}

void cop_view_frame_scripts(const char *json, size_t length, cop_bytes *out)
{
	put_html(out, "<script type=\"application/json\" id=\"data\">");
	put_inert(json, length, out);
	put_html(out, "</script>\n<script>\n");
	cop_bytes_put(out, cop_view_page_js, cop_view_page_js_length);
	put_html(out, "</script>\n");
}
