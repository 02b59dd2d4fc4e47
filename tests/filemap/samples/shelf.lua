local M = {}

local limit, step = 10, 2
VERSION = "1.0"

-- Opens a shelf.
function M.open(name, ...)
  local function inner(x)
    return x
  end
  return inner(name)
end

function M:close()
end

M.find = function(self, key)
  return nil
end

local function hidden(a, b)
  return a + b
end

local handlers = {
  start = function() end,
  stop = function(code)
    return code
  end,
}

return M
