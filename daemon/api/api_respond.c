/* MHD copies the answer's bytes, so that the request's room is free when it is sent. */
#include "daemon/api/api_respond.h"

#include <stdio.h>
#include <sys/socket.h>

static enum MHD_Result add_page_headers(struct MHD_Response *response, const cop_api_page_part *part)
{
	const char *const *pair = cop_api_page_headers;
	enum MHD_Result result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, part->type);
	if (result == MHD_YES)
		result = MHD_add_response_header(response, "Content-Security-Policy", part->policy);
	for (; pair[0] != NULL && result == MHD_YES; pair += 2)
		result = MHD_add_response_header(response, pair[0], pair[1]);
	return result;
}

static enum MHD_Result add_headers(struct MHD_Response *response, const cop_api_request *r)
{
	/* The personalizer's clients read no other type. */
	bool plain = r->status < 400 || r->personal;
	enum MHD_Result result = MHD_YES;
	if (!r->stranger) /* who are told nothing */
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_SERVER, "coppiced/" COP_VERSION);
	if (r->page != NULL && result == MHD_YES)
		result = add_page_headers(response, r->page);
	else if (r->answer.length > 0 && result == MHD_YES)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
		        plain ? "application/json" : "application/problem+json");
	if (r->cookie[0] != '\0' && result == MHD_YES)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, r->cookie);
	if (r->allow != NULL && result == MHD_YES)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, r->allow);
	if (r->status == MHD_HTTP_UNAUTHORIZED && result == MHD_YES)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if ((r->status == MHD_HTTP_SERVICE_UNAVAILABLE || r->status == MHD_HTTP_TOO_MANY_REQUESTS) && result == MHD_YES)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	return result;
}

enum MHD_Result cop_api_respond(struct MHD_Connection *connection, const cop_api_request *r)
{
	struct MHD_Response *response =
	        MHD_create_response_from_buffer(r->answer.length, r->answer.data, MHD_RESPMEM_MUST_COPY);
	if (response == NULL)
		return MHD_NO;
	enum MHD_Result result = add_headers(response, r);
	if (result == MHD_YES)
		result = MHD_queue_response(connection, r->status, response);
	MHD_destroy_response(response);
	return result;
}

void cop_api_respond_peer(struct MHD_Connection *connection, char out[INET6_ADDRSTRLEN])
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = info == NULL ? NULL : info->client_addr;
	(void)snprintf(out, INET6_ADDRSTRLEN, "-");
	if (address != NULL && address->sa_family == AF_INET)
		(void)inet_ntop(
		        AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, out, INET6_ADDRSTRLEN);
	else if (address != NULL && address->sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, out,
		        INET6_ADDRSTRLEN);
}
