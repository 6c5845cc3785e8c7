-- Requests for wrk: decisions with an id of their own each, and feedback for every tenth.
-- Arguments: NAME, which begins all ids of this run, and FEATURES.
local count, prefix, bodies, headers = 0, "", {}, { ["Content-Type"] = "application/json" }

function init(arguments)
	prefix = arguments[1]
	for i = 0, 96 do
		local x = {}
		for j = 1, tonumber(arguments[2]) do
			x[j] = string.format("%.3f", ((i * 7 + j * 3) % 11) / 11)
		end
		bodies[i] = '","x":[' .. table.concat(x, ",") .. "]}"
	end
end

function request()
	count = count + 1
	if count % 11 == 0 then -- of a decision that was answered long ago, on another connection
		local body = string.format('{"id":"%s-%d","loss":%d}', prefix, count - 989, count % 2)
		return wrk.format("POST", "/v1/models/m/feedback", headers, body)
	end
	return wrk.format("POST", "/v1/models/m/decide", headers, '{"id":"' .. prefix .. "-" .. count .. bodies[count % 97])
end
