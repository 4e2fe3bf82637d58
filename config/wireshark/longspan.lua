-- Longspan's own messages in Wireshark: grant frames (EtherType 0x88B5), shims of repair (EtherType 0x88B6), rate feedback
-- (ICMP type 253), and in-band telemetry and direct INT in RoCEv2. docs/captures.md says where this file goes, and how to
-- filter.
--
-- A format is a table of rows: offset, type, filter name behind `longspan.`, label, options. A new one needs nothing else.
-- A field that a gateway would refuse is marked as expert information, with the gateway's name for it. The file runs
-- under the Lua of each Wireshark since 4.0 (5.2 and 5.4), so it has no operators on bits.

local longspan = Proto("longspan", "Longspan")

local experts = {
    version = ProtoExpert.new("longspan.other_version", "Another version", expert.group.UNDECODED, expert.severity.WARN),
    format = ProtoExpert.new("longspan.unknown_format", "Unknown format", expert.group.UNDECODED, expert.severity.WARN),
    short = ProtoExpert.new("longspan.short", "Short message", expert.group.MALFORMED, expert.severity.ERROR),
    invalid = ProtoExpert.new("longspan.invalid", "Refused by a gateway", expert.group.MALFORMED, expert.severity.ERROR),
    cut = ProtoExpert.new("longspan.cut", "Cut by the capture", expert.group.UNDECODED, expert.severity.NOTE),
}
longspan.experts = { experts.version, experts.format, experts.short, experts.invalid, experts.cut }

-- Types of fields ----------------------------------------------------------------------------------------------------

local bool = { size = 1, make = ProtoField.bool }
local u8 = { size = 1, make = ProtoField.uint8 }
local u16 = { size = 2, make = ProtoField.uint16 }
local u24 = { size = 3, make = ProtoField.uint24 }
local u32 = { size = 4, make = ProtoField.uint32 }
local u64 = { size = 8, make = ProtoField.uint64 }
local ether = { size = 6, make = ProtoField.ether, plain = true }
local ipv4 = { size = 4, make = ProtoField.ipv4, plain = true }
local ipv6 = { size = 16, make = ProtoField.ipv6, plain = true }
local function bytes(size) return { size = size, make = ProtoField.bytes, plain = true } end

local declared, fields = {}, {}

-- The field of that name, which formats share if they have it in common.
local function declare(kind, name, label, options)
    if declared[name] then return declared[name] end
    local filter, field = "longspan." .. name, nil
    if kind.plain then
        field = kind.make(filter, label)
    elseif kind == bool then
        field = kind.make(filter, label, 8, nil, options.mask)
    else
        local units = options.unit and { " " .. options.unit }
        local shape = units and base.UNIT_STRING or options.hex and base.HEX or base.DEC
        field = kind.make(filter, label, shape, options.names or units, options.mask)
    end
    declared[name] = field
    fields[#fields + 1] = field
    return field
end

-- A row of a format. Options:
--   mask, hex, unit, names     as Wireshark shows it
--   refused, valid             the gateway's word for a value of which `valid(value, range, message, start)` is false
--   info                       shown in the column of information
--   text(value)                what stands behind the value
--   bytes(message, start)      what a unit of the value is: the row is followed by one with `_bytes`, in bytes
--   when(message, start)       whether the message has the field at all
local function row(at, kind, name, label, options)
    options = options or {}
    options.at, options.kind, options.label = at, kind, label
    options.field = name and declare(kind, name, label, options)
    options.in_bytes = options.bytes and declare(u64, name .. "_bytes", label .. ", in bytes", { unit = "bytes" })
    return options
end

-- A field that is read but not shown: Wireshark's own dissector shows it.
local function check(at, kind, refused, valid, mask)
    return row(at, kind, nil, nil, { refused = refused, valid = valid, mask = mask })
end

local function is_zero(_, range) return range:bytes():tohex():find("[^0]") == nil end
local function is_not_zero(...) return not is_zero(...) end
local function is_up_to(most) return function(value) return value <= most end end

local function is_station(_, range) return range(0, 1):uint() % 2 == 0 and is_not_zero(nil, range) end

-- Bytes that must be zero. The gateway refuses others as `refused`.
local function reserved(at, size, refused)
    return row(at, bytes(size), "reserved", "Reserved", { refused = refused or "reserved", valid = is_zero })
end

-- `most` places of `each` bytes from `at` on, of which `count(message)` are used, with these rows. `label` has the number
-- of a place, which counts from `first`. Unused places are shown if they have a word in `unused`, by which the gateway
-- refuses those that are not zero.
local function list(at, each, most, label, rows, options)
    options.at, options.each, options.most, options.label, options.rows = at, each, most, label, rows
    options.count = options.count or function() return most end
    return options
end

-- A byte of the message; zero where it has none.
local function byte_of(message, at)
    return at < message.tvb:len() and message.tvb(at, 1):uint() or 0
end

local function byte_at(at)
    return function(message) return byte_of(message, at) end
end

-- The destination of all that two gateways tell each other. To another address it is none of ours.
local DESTINATION = Address.ether("01:80:c2:00:00:03")

-- Grant frames ---------------------------------------------------------------------------------------------------------

local FORMAT_AT = 3

local function numbers_of(bits)
    local set = {}
    for bit = 0, 7 do
        if math.floor(bits / 2 ^ bit) % 2 == 1 then set[#set + 1] = tostring(bit) end
    end
    return "(" .. (#set > 0 and table.concat(set, ", ") or "none") .. ")"
end

local priorities = row(2, u8, "priorities", "Priorities with limits", { hex = true, text = numbers_of })
local sequence = row(4, u32, "sequence", "Sequence number", { info = true })

local slot_head = {
    row(1, bool, "follows", "The sender follows grants in the other direction", { mask = 0x80 }),
    row(1, u8, "kind", "Limit of the receiver", {
        mask = 0x7f, names = { [0] = "pauses alone", [1] = "grant", [2] = "free" }, info = true,
        refused = "flags", valid = is_up_to(2),
    }),
    priorities,
    sequence,
    row(8, u32, "slot", "Slot (T)", { unit = "ns", info = true }),
    row(12, u32, "total", "Total of all priorities (c_max)", { unit = "bytes on the wire", info = true }),
}

local function with(first, ...)
    local all = {}
    for _, rows in ipairs({ first, { ... } }) do
        for _, it in ipairs(rows) do all[#all + 1] = it end
    end
    return all
end

local function credit(message) return byte_of(message, 1) == 1 and 256 or 64 end

-- Whether all bits of an address behind its prefix are zero, and the prefix fits its family.
local function is_prefix(length, range, message, start)
    if length > (byte_of(message, start + 2) == 4 and 32 or 128) then return false end
    for index = 0, 15 do
        local kept = math.max(0, math.min(8, length - 8 * index))
        if byte_of(message, start + 4 + index) % 2 ^ (8 - kept) ~= 0 then return false end
    end
    return true
end

local function is_family(family)
    return function(message, start) return byte_of(message, start + 2) == family end
end

local destination = {
    row(0, u8, "destination.far_port", "Far port (0: none)", { refused = "far port", valid = is_up_to(14) }),
    row(1, u8, "destination.length", "Length of the prefix", { unit = "bits", refused = "prefix", valid = is_prefix }),
    row(2, u8, "destination.family", "Family", {
        names = { [4] = "IPv4", [6] = "IPv6" },
        refused = "family", valid = function(value) return value == 4 or value == 6 end,
    }),
    reserved(3, 1),
    row(4, ipv4, "destination.ipv4", "Prefix", { when = is_family(4) }),
    row(4, ipv6, "destination.ipv6", "Prefix", { when = is_family(6) }),
}

local bfd = DissectorTable.get("udp.port"):get_dissector(3784)

-- Of the flags of BFD: neither authentication, demand mode nor several receivers, and not poll and final at once.
local function is_accepted(flags) return flags % 8 == 0 and flags % 64 < 48 end

local function has_discriminator(_, range, message)
    return byte_of(message, 5) < 128 or is_not_zero(nil, range)
end

local formats = {
    [0] = {
        name = "BifrostX slot", length = 48,
        rows = with(slot_head, list(16, 4, 8, "priority %d", {
            row(0, u32, "each", "Bytes (c_i)", { unit = "bytes on the wire" }),
        }, { first = 0 })),
    },
    [1] = {
        name = "Credits", length = 112,
        rows = {
            row(1, u8, "counter", "Counter of the limits", {
                names = { [0] = "wide: 32 bits of 64 bytes", [1] = "Ultra Ethernet: 20 bits of 256 bytes" },
                refused = "counter", valid = is_up_to(1),
            }),
            priorities,
            sequence,
            row(8, u32, "session", "Session of the sender", {
                hex = true, info = true, refused = "session", valid = is_not_zero,
            }),
            row(12, u32, "echo", "Session of the receiver (0: not heard yet)", { hex = true }),
            list(16, 8, 8, "priority %d", {
                row(0, u64, "sent", "Total sent (FCTBS)", { unit = "bytes on the wire" }),
            }, { first = 0 }),
            list(80, 4, 8, "priority %d", {
                row(0, u32, "limit", "Credit limit (FCCL)", { unit = "credits", bytes = credit }),
            }, { first = 0 }),
        },
    },
    [2] = {
        name = "Port grants", length = 76,
        rows = with(slot_head,
            row(16, u8, "far_ports", "Far ports with grants", {
                info = true, refused = "far ports", valid = is_up_to(14),
            }),
            reserved(17, 3),
            list(20, 4, 14, "far port %d", {
                row(0, u32, "far_port", "Granted, modulo 2^32, or start", { unit = "bytes on the wire" }),
            }, { first = 1, count = byte_at(16), unused = "reserved" })),
    },
    [3] = {
        name = "Destinations behind far ports", length = 112,
        rows = {
            row(1, u8, "page", "Page (from 0)", {
                info = true, refused = "page", valid = function(value, _, message)
                    local pages = byte_of(message, 2)
                    return value < pages and pages <= 100
                end,
            }),
            row(2, u8, "pages", "Pages", { info = true }),
            row(4, u32, "edition", "Edition of the list", { hex = true, info = true }),
            row(8, u8, "destinations", "Destinations on this page", {
                info = true, refused = "destinations", valid = is_up_to(5),
            }),
            reserved(9, 3),
            list(12, 20, 5, "Destination %d", destination,
                { first = 1, count = byte_at(8), unused = "reserved", tree = true }),
        },
    },
    [4] = {
        name = "Hello", length = 68,
        rows = {
            reserved(1, 2),
            { at = 4, kind = bytes(24), dissector = bfd },
            check(4, u8, "version", function(value) return value == 1 end, 0xe0),
            check(5, u8, "flags", is_accepted),
            check(6, u8, "detect multiplier", is_not_zero),
            check(7, u8, "length", function(value) return value == 24 end),
            check(8, u32, "my discriminator", is_not_zero),
            check(12, u32, "your discriminator", has_discriminator),
            row(28, ether, "chassis", "Chassis", {
                refused = "chassis", valid = is_station,
            }),
            row(34, u8, "bundle", "Number of the bundle", { info = true }),
            row(35, u8, "member", "Number of the link in the bundle", { info = true }),
            row(36, u64, "hello.number", "Number of the hello", { info = true }),
            row(44, u64, "hello.sent", "Data frames sent", { unit = "frames" }),
            row(52, u64, "hello.received", "Data frames received", { unit = "frames" }),
            row(60, u64, "tag", "Tag (SipHash-2-4)", { hex = true }),
        },
    },
    [5] = {
        name = "Commissioning", length = 104,
        rows = {
            reserved(1, 2),
            row(4, u64, "commission.mine", "Number that the sender drew", { hex = true }),
            row(12, u64, "commission.yours", "Number that the other end drew (0: unknown)", { hex = true }),
            row(20, u64, "commission.number", "Number of the message", { info = true }),
            row(28, u8, "commission.step", "Step", { info = true }),
            row(29, u8, "commission.phase", "Phase", { info = true }),
            reserved(30, 2),
            list(32, 8, 8, "%d", { row(0, u64, "commission.figure", "Figure") }, { first = 0 }),
            row(96, u64, "tag", "Tag (SipHash-2-4)", { hex = true }),
        },
    },
    [6] = {
        name = "Status of repair", length = 112,
        rows = {
            reserved(1, 1, "flags"),
            row(2, u8, "repair.priorities", "Repaired priorities", { hex = true, text = numbers_of }),
            row(4, u32, "repair.number", "Number of the status", { info = true }),
            row(8, u32, "repair.session", "Session of the sender", { hex = true, info = true }),
            row(12, u32, "repair.echo", "Session of the other end (0: unknown)", { hex = true }),
            row(16, u32, "repair.heard", "Number of the last status heard"),
            row(20, u32, "repair.next", "Number of the next new frame"),
            row(24, u32, "repair.next_copy", "Number of the next copy"),
            row(28, u64, "repair.bytes", "New frames sent", { unit = "bytes on the wire" }),
            row(36, u32, "repair.first", "Lowest number that is kept"),
            row(40, u32, "repair.base", "Lowest number that has not come"),
            row(44, u32, "repair.new_from", "New frames that have come: from"),
            row(48, u32, "repair.new_until", "New frames that have come: until, without"),
            row(52, u32, "repair.copies_from", "Copies that have come: from"),
            row(56, u32, "repair.copies_until", "Copies that have come: until, without"),
            row(60, u8, "repair.gaps", "Gaps", { info = true, refused = "gaps", valid = is_up_to(7) }),
            row(61, u8, "repair.kinds", "Gaps of copies", {
                hex = true, text = numbers_of, refused = "kinds", valid = is_up_to(127),
            }),
            check(61, u8, "gap", function(kinds, _, message) return kinds < 2 ^ byte_of(message, 60) end, 0x7f),
            list(62, 6, 7, "Gap %d", {
                row(0, u32, "repair.gap.start", "First number that has not come"),
                row(4, u16, "repair.gap.length", "Numbers in a row", { refused = "gap", valid = is_not_zero }),
            }, { first = 0, count = byte_at(60), unused = "gap", tree = true }),
            row(104, u64, "tag", "Tag (SipHash-2-4)", { hex = true }),
        },
    },
}

local format_names = {}
for number, format in pairs(formats) do format_names[number] = format.name end
local format_row = row(FORMAT_AT, u8, "format", "Format", { names = format_names })
for _, format in pairs(formats) do
    format.version_at, format.version = 0, 1
    table.insert(format.rows, 1, format_row)
end

-- Shims of repair ------------------------------------------------------------------------------------------------------

-- What follows the EtherType of a shim, whose two bytes Wireshark has read. The frame's own EtherType is next.
local function shim(name, length, ...)
    local rows = {
        row(0, u8, "shim.flags", "Flags", {
            mask = 0xf0, names = { [0] = "sent for the first time", [1] = "sent again" },
            refused = "flags", valid = is_up_to(1),
        }),
        row(0, u16, "shim.bucket", "Bucket of the flow", { mask = 0x0fff }),
        row(2, u32, "shim.number", "Number of the frame", { info = true }),
        row(6, u8, "shim.epoch", "Lowest byte of the session (epoch)", { hex = true }),
        row(7, u24, "shim.back", "Back to the last frame of the bucket (0: none)", { unit = "frames" }),
    }
    return { name = name, rows = with(rows, ...), length = length, before = 2, open = true }
end

local new_shim = shim("Repaired frame", 10)
local copy_shim = shim("Repaired frame, again", 14, row(10, u32, "shim.copy", "Number of the copy", { info = true }))
local own_type = row(0, u16, "shim.type", "EtherType of the frame", { hex = true })

-- Rate feedback --------------------------------------------------------------------------------------------------------

local function is_rate(message) return byte_of(message, 1) == 0 end
local function is_challenge(message) return byte_of(message, 1) == 1 end
local function is_no_challenge(message) return not is_challenge(message) end

local function has_flags(flags, _, message)
    return flags == 1 or is_rate(message) and (flags == 0 or flags == 3)
end

local function has_tag(_, range, message)
    return byte_of(message, 5) % 2 == 1 or is_zero(nil, range)
end

local rate_feedback = {
    name = "Rate feedback", length = 36, version_at = 4, version = 2, exact = true,
    rows = {
        row(1, u8, "feedback.code", "Code", {
            names = { [0] = "rate", [1] = "challenge" }, info = true, refused = "code", valid = is_up_to(1),
        }),
        row(5, bool, "feedback.tagged", "Authenticated: there is a tag", { mask = 0x01 }),
        row(5, bool, "feedback.answers", "Answers a challenge", { mask = 0x02 }),
        row(5, u8, "feedback.flags", "Flags", { hex = true, refused = "flags", valid = has_flags }),
        row(6, u16, "feedback.port", "The sender's number of its port"),
        row(8, u64, "feedback.sequence", "Sequence (the sender's clock)", { unit = "ns", when = is_rate }),
        row(8, bytes(8), "feedback.zero", "Zero", { when = is_challenge, refused = "sequence", valid = is_zero }),
        row(16, u64, "feedback.session", "Session", { hex = true, when = is_rate }),
        row(16, u64, "feedback.nonce", "Nonce", { hex = true, when = is_challenge }),
        row(24, u32, "feedback.rate", "Rate", {
            unit = "Mb/s", info = true, when = is_no_challenge, refused = "rate", valid = is_not_zero,
        }),
        row(24, bytes(4), "feedback.zero", "Zero", { when = is_challenge, refused = "rate", valid = is_zero }),
        row(28, u64, "tag", "Tag (SipHash-2-4)", { hex = true, refused = "tag", valid = has_tag }),
    },
}

-- In-band telemetry ----------------------------------------------------------------------------------------------------

local RATES = { 10, 25, 50, 100, 200, 250, 400, 500, 1000, 2000, 4000, 8000, 16000, 32000 }
local rate_names = {}
for code, units in ipairs(RATES) do
    local gigabits = units / 10
    rate_names[code] = gigabits < 1000 and string.format("%gG", gigabits) or string.format("%gT", gigabits / 1000)
end

-- Bytes of a unit of `sent`: the smallest power of two that lasts 16 ns at the rate of the hop at `start`.
local function sent_unit(message, start)
    local units = RATES[math.floor(byte_of(message, start) / 16)] or 0
    local unit = 1
    while unit * 5 < units do unit = unit * 2 end
    return unit
end

local function queue_unit(message, start) return 4 * sent_unit(message, start) end

local hop = {
    row(0, u8, "int.rate", "Rate (B)", {
        mask = 0xf0, names = rate_names,
        refused = "rate of a hop", valid = function(value) return RATES[value] ~= nil end,
    }),
    row(0, u32, "int.timestamp", "Timestamp (TS), modulo 2^24", { mask = 0x0ffffff0, unit = "ns" }),
    row(3, u24, "int.sent", "Sent (txBytes), modulo 2^20", { mask = 0x0fffff, unit = "units", bytes = sent_unit }),
    row(6, u16, "int.queue", "Queue (qLen)", { unit = "units", bytes = queue_unit }),
}

local function passed_hops(message) return math.floor(byte_of(message, 0) / 16) end

local function telemetry(name, hops, options, ...)
    local rows = {
        row(0, u16, "int.passed", "Hops passed (nHop)", options),
        row(0, u16, "int.path", "Path (pathID)", { mask = 0x0fff, hex = true }),
        list(2, 8, hops, "Hop %d", hop, { first = 1, count = passed_hops, tree = true }),
    }
    return { name = name, rows = with(rows, ...), length = 2 + 8 * hops, open = true }
end

local int_of_five = telemetry("In-band telemetry", 5, { mask = 0xf000 })
local int_of_eight = telemetry("In-band telemetry for eight hops", 8, { mask = 0xf000 })
local direct_int = telemetry("Direct INT", 5, {
    mask = 0xf000, refused = "hops", valid = function(value) return value >= 1 and value <= 5 end,
}, row(42, u24, "int.advertised", "Advertised rate (B)", {
    unit = "Mb/s", info = true, refused = "advertised rate", valid = is_not_zero,
}), row(45, bytes(3), "int.padding", "Padding"))
direct_int.length = 45

-- Reading --------------------------------------------------------------------------------------------------------------

local version_field = declare(u8, "version", "Version", {})
local unread_field = declare(bytes(0), "unread", "Bytes beyond the message, or that this version does not read", {})

-- The number in a range that a mask selects.
local function value_of(range, mask)
    local value = range:uint()
    if not mask then return value end
    local lowest = 1
    while mask % (lowest * 2) == 0 do lowest = lowest * 2 end
    return math.floor(value / lowest) % (math.floor(mask / lowest) + 1)
end

local function shown(row, range, value)
    if row.names and row.names[value] then return row.names[value] end
    local unit = row.unit and " " .. row.unit or ""
    local name = row.label:gsub(" %(.*", ""):lower()
    local text = value and string.format(row.hex and "%#x" or "%d", value) or tostring(range:uint64())
    return name .. " " .. text .. unit
end

local function draw_row(row, message, start, tree, place)
    local at = start + row.at
    if at + row.kind.size > message.tvb:len() or row.when and not row.when(message, start) then return end
    local range = message.tvb(at, row.kind.size)
    if row.dissector then
        -- Its errors are shown where they occur, and thrown besides.
        pcall(function() row.dissector:call(range:tvb(), message.pinfo, tree) end)
        return
    end
    local value = not row.kind.plain and row.kind.size <= 4 and value_of(range, row.mask) or nil
    local item = row.field and tree:add(row.field, range) or tree
    if place then item:append_text(" (" .. place .. ")") end
    if row.text then item:append_text(" " .. row.text(value)) end
    if row.bytes then
        local amount = UInt64.new(value * row.bytes(message, start))
        local derived = tree:add(row.in_bytes, range, amount):set_generated()
        if place then derived:append_text(" (" .. place .. ")") end
    end
    if row.info then message.info[#message.info + 1] = shown(row, range, value) end
    if row.valid and not row.valid(value, range, message, start) then
        local got = value and string.format("%d", value) or "0x" .. range:bytes():tohex()
        item:add_proto_expert_info(experts.invalid, row.refused .. " is " .. got)
    end
end

local draw

local function draw_list(list, message, start, tree)
    local count = math.min(list.count(message), list.most)
    local at = start + list.at
    for place = 0, count - 1 do
        local first = at + place * list.each
        local label = string.format(list.label, place + list.first)
        local branch = tree
        if list.tree and first + list.each <= message.tvb:len() then
            branch = tree:add(message.tvb(first, list.each), label)
        end
        draw(list.rows, message, first, branch, not list.tree and label or nil)
    end
    if list.unused and count < list.most then
        draw_row(reserved(list.at + count * list.each, (list.most - count) * list.each, list.unused), message,
            start, tree)
    end
end

draw = function(rows, message, start, tree, place)
    for _, it in ipairs(rows) do
        if it.rows then
            draw_list(it, message, start, tree)
        else
            draw_row(it, message, start, tree, place)
        end
    end
end

-- Shows what stands behind the first `at` bytes of the message and has no rows.
local function draw_unread(message, at, tree)
    local length = message.tvb:len()
    if at < length then tree:add(unread_field, message.tvb(at, length - at)) end
end

-- Shows a message in `format`; returns it, with its tree and its version, if it has one that is there.
local function dissect(format, tvb, pinfo, parent)
    local message = { tvb = tvb, pinfo = pinfo, info = {} }
    local length, is_cut, before = tvb:len(), pinfo.caplen < pinfo.len, format.before or 0
    local tree = parent:add(longspan, tvb(0, format.open and math.min(format.length, length) or length))
    tree:append_text(": " .. format.name)
    if is_cut then tree:add_proto_expert_info(experts.cut, "the capture holds a part of the frame") end
    if format.version_at and format.version_at < length then
        local version = tvb(format.version_at, 1)
        local item = tree:add(version_field, version)
        if version:uint() ~= format.version then
            item:add_proto_expert_info(experts.version, "version is " .. version:uint())
            draw_unread(message, format.version_at + 1, tree)
            return message, tree
        end
    end
    if length < format.length and not is_cut then
        local needed, available = before + format.length, before + length
        tree:add_proto_expert_info(experts.short, needed .. " bytes needed, " .. available .. " available")
    end
    draw(format.rows, message, 0, tree)
    if not format.open then draw_unread(message, format.length, tree) end
    if format.exact and length > format.length then
        tree:add_proto_expert_info(experts.invalid, "length is " .. length)
    end
    return message, tree
end

local function fill_columns(format, message)
    message.pinfo.cols.protocol = "Longspan"
    message.pinfo.cols.info = table.concat(with({ format.name }, table.unpack(message.info)), ", ")
end

local other_version = { name = "message of another version", version_at = 0, version = 1 }
local unknown_format = {
    name = "message of an unknown format", version_at = 0, version = 1, length = FORMAT_AT + 1,
    rows = { row(1, bytes(2), "before_format", "Bytes before the format"), format_row },
}

-- A grant frame.
function longspan.dissector(tvb, pinfo, tree)
    if pinfo.dl_dst ~= DESTINATION then return 0 end
    local version, number = byte_of({ tvb = tvb }, 0), byte_of({ tvb = tvb }, FORMAT_AT)
    local format = version ~= 1 and tvb:len() > 0 and other_version or formats[number] or unknown_format
    local message, branch = dissect(format, tvb, pinfo, tree)
    if format == unknown_format then
        branch:add_proto_expert_info(experts.format, "format is " .. number)
    end
    fill_columns(format, message)
    return tvb:len()
end

local ether_types = DissectorTable.get("ethertype")
ether_types:add(0x88b5, longspan)

-- A frame with a shim, of which the rest is Wireshark's. A gateway takes off one shim only.
local repair, is_behind_shim = Proto("longspan_repair", "Longspan repair"), false

function repair.dissector(tvb, pinfo, tree)
    if is_behind_shim then return 0 end
    local length, flags = tvb:len(), math.floor(byte_of({ tvb = tvb }, 0) / 16)
    local format = flags == 1 and length >= new_shim.length and copy_shim or new_shim
    local message, branch = dissect(format, tvb, pinfo, tree)
    fill_columns(format, message)
    local rest = format.length + own_type.kind.size
    if flags > 1 or length < rest then
        draw_unread(message, format.length, branch)
        return length
    end
    draw_row(own_type, message, format.length, branch)
    if rest < length then
        is_behind_shim = true
        -- Its errors are shown where they occur, and thrown besides.
        pcall(function()
            ether_types:try(tvb(format.length, 2):uint(), tvb(rest, length - rest):tvb(), pinfo, tree)
        end)
        is_behind_shim = false
    end
    return length
end

ether_types:add(0x88b6, repair)

-- Wireshark has no place for what is inside of ICMP of an unknown type, or between headers of InfiniBand. So what it has
-- read is looked at again.
local inside = Proto("longspan_inside", "Longspan inside of other protocols")
local icmp, icmp_type, ttl = Field.new("icmp"), Field.new("icmp.type"), Field.new("ip.ttl")
local infiniband, udp_port = Field.new("infiniband"), Field.new("udp.dstport")

local EXPERIMENT, ROCE_PORT, DIRECT_INT, ACKNOWLEDGE = 253, 4791, 0xc1, 0x11
local BTH_LEN, AETH_LEN, ICRC_LEN, TELEMETRY_AT = 12, 4, 4, 8

local function dissect_feedback(tvb, pinfo, tree)
    local message, branch = dissect(rate_feedback, tvb, pinfo, tree)
    local ttls = { ttl() }
    local last = ttls[#ttls]
    if last and last.value ~= 255 then
        branch:add_proto_expert_info(experts.invalid, "TTL is " .. last.value)
    end
    fill_columns(rate_feedback, message)
end

-- The headers behind the BTH that its opcode or reserved bits announce: 0x40 collected, 0x20 returned, 0x10 eight hops.
local function dissect_roce(range, pinfo, tree)
    local length = range:len() - (pinfo.caplen < pinfo.len and 0 or ICRC_LEN)
    if length <= BTH_LEN then return end
    local opcode, bits = range(0, 1):uint(), math.floor(range(TELEMETRY_AT, 1):uint() / 16) % 8
    local at = BTH_LEN
    if opcode == DIRECT_INT then
        fill_columns(direct_int, dissect(direct_int, range(at, length - at):tvb(), pinfo, tree))
        return
    elseif bits == 2 or bits == 3 then
        at = at + AETH_LEN
        if opcode ~= ACKNOWLEDGE or length <= at then return end
    elseif bits ~= 4 and bits ~= 5 then
        return
    end
    dissect(bits % 2 == 1 and int_of_eight or int_of_five, range(at, length - at):tvb(), pinfo, tree)
end

function inside.dissector(_, pinfo, tree)
    local transport = infiniband()
    if transport then
        local port = udp_port()
        if port and port.value == ROCE_PORT then dissect_roce(transport.range, pinfo, tree) end
        return 0
    end
    if pinfo.dl_dst ~= DESTINATION then return 0 end
    local kind = icmp_type()
    if kind and kind.value == EXPERIMENT then dissect_feedback(icmp().range:tvb(), pinfo, tree) end
    return 0
end

longspan.fields = fields
register_postdissector(inside)
