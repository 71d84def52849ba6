-- Wireshark dissector for the messages that no released Wireshark knows:
--   SFCM      source flow control message (P802.1Qdw), Sluice's draft encoding, version 0
--   CIM       congestion isolation message (802.1Qcz), EtherType 89-A2 subtype 0, or UDP
--   headroom  headroom measurement message (P802.1Qdt), EtherType 89-A2 subtype 1
--   CNM       congestion notification message (802.1Qau), EtherType 22-E7, and its CN-TAG 22-E9
--
-- Use: wireshark -X lua_script:tools/sluice.lua, or copy it to the personal plugins folder.
-- What the drafts leave open is a preference of the protocol. UDP ports are preferences, too:
--   tshark -X lua_script:tools/sluice.lua -o sfcm.port:58622 -o cim.port:50000 -r capture.pcap
-- src/wire/{sfcm,cim,headroom,cnm}.rs have the layouts; a test holds this file to them.

local ethertypes = DissectorTable.get("ethertype")
local udp_ports = DissectorTable.get("udp.port")

local function bad(tree, item, range, text)
  tree:add_proto_expert_info(item, text)
  return range:len()
end

-- The extension headers of IPv6 that can be passed.
local extensions = {
  [0] = true, [43] = true, [44] = true, [51] = true, [60] = true, [135] = true, [139] = true,
  [140] = true,
}

-- Where the upper header of the IPv6 packet at `at` is, which protocol it is of, and whether it is
-- there; eight extension headers are passed at most, as the library does.
local function upper6(range, at)
  local first = range(at + 6, 1)
  local field, to, whole = first, at + 40, true
  for _ = 1, 8 do
    local kind = field:uint()
    if not extensions[kind] then return field, to, whole end
    if range:len() < to + 8 then return first, to, false end
    local length = (range(to + 1, 1):uint() + 1) * 8
    if kind == 44 then
      length = 8
      local offset = range(to + 2, 2):bitfield(0, 13)
      whole = offset == 0 and range(to + 2, 2):bitfield(15, 1) == 0
      if offset ~= 0 then return range(to, 1), to + 8, false end
    elseif kind == 51 then
      length = (range(to + 1, 1):uint() + 2) * 4
    end
    field = range(to, 1)
    to = to + length
    if range:len() < to then return first, to, false end
  end
  if extensions[field:uint()] then return first, to, false end
  return field, to, whole
end

-- Shows an encapsulated MSDU and gives its EtherType and its flow, as far as they are there. What it
-- holds is cut short by design, so no other dissector is asked.
local function add_msdu(range, fields, tree)
  local msdu = tree:add(fields.msdu, range)
  if range:len() < 2 then return end
  msdu:add(fields.msdu_type, range(0, 2))
  local at, kind = 2, range(0, 2):uint()
  -- Inner tags, as many as the switch looks through.
  for _ = 1, 4 do
    if (kind ~= 0x8100 and kind ~= 0x88a8) or range:len() < at + 4 then break end
    kind = range(at + 2, 2):uint()
    at = at + 4
  end
  local rest = range:len() - at
  local flow, ports
  local words = rest > 0 and range(at, 1):bitfield(4, 4) or 0
  local v4 = kind == 0x0800 and rest >= 20 and range(at, 1):bitfield(0, 4) == 4
  if v4 and words >= 5 and rest >= words * 4 and range(at + 2, 2):uint() >= words * 4 then
    msdu:add(fields.flow_src4, range(at + 12, 4))
    msdu:add(fields.flow_dst4, range(at + 16, 4))
    msdu:add(fields.flow_protocol, range(at + 9, 1))
    flow = { src = tostring(range(at + 12, 4):ipv4()), protocol = range(at + 9, 1):uint() }
    -- A fragment counts as having no ports.
    if range(at + 6, 2):bitfield(2, 14) == 0 then ports = at + words * 4 end
  elseif kind == 0x86dd and rest >= 40 and range(at, 1):bitfield(0, 4) == 6 then
    msdu:add(fields.flow_src6, range(at + 8, 16))
    msdu:add(fields.flow_dst6, range(at + 24, 16))
    local field, to, whole = upper6(range, at)
    msdu:add(fields.flow_protocol, field)
    flow = { src = tostring(range(at + 8, 16):ipv6()), protocol = field:uint() }
    if whole then ports = to end
  end
  -- A UDP header is read when it is whole, a TCP header when its ports are there.
  local least = flow and ({ [6] = 4, [17] = 8 })[flow.protocol]
  if least and ports and range:len() >= ports + least then
    msdu:add(fields.flow_sport, range(ports, 2))
    msdu:add(fields.flow_dport, range(ports + 2, 2))
    flow.dport = range(ports + 2, 2):uint()
  end
  return kind, flow
end

-- Whether datagrams of a flow go to the port of the message that is about it.
local function about_itself(flow, pinfo)
  return flow and flow.protocol == 17 and flow.dport == pinfo.dst_port
end

-- The fields of a flow, under the protocol's own name.
local function flow_fields(name)
  return {
    flow_src4 = ProtoField.ipv4(name .. ".flow.src", "Flow source"),
    flow_dst4 = ProtoField.ipv4(name .. ".flow.dst", "Flow destination"),
    flow_src6 = ProtoField.ipv6(name .. ".flow.src6", "Flow source"),
    flow_dst6 = ProtoField.ipv6(name .. ".flow.dst6", "Flow destination"),
    flow_protocol = ProtoField.uint8(name .. ".flow.protocol", "Flow protocol"),
    flow_sport = ProtoField.uint16(name .. ".flow.srcport", "Flow source port"),
    flow_dport = ProtoField.uint16(name .. ".flow.dstport", "Flow destination port"),
    msdu = ProtoField.bytes(name .. ".msdu", "Encapsulated MSDU"),
    msdu_type = ProtoField.uint16(name .. ".msdu.type", "EtherType", base.HEX),
  }
end

local function with(fields, more)
  for key, value in pairs(more) do fields[key] = value end
  return fields
end

-- An expert item that every protocol has: what the library refuses.
local function refusal(name)
  return ProtoExpert.new(name .. ".refused", "Refused", expert.group.MALFORMED, expert.severity.ERROR)
end

-- SFCM
local sfcm = Proto("sfcm", "Source Flow Control Message")
local sfcm_forms = { [0] = "Simplified", [1] = "Encapsulated MSDU" }
local sfcm_locators = { [0] = "Unknown", [1] = "Incast", [2] = "In-network", [3] = "Reserved" }
local sf = with({
  version = ProtoField.uint8("sfcm.version", "Version", base.DEC, nil, 0xf0),
  form = ProtoField.uint8("sfcm.form", "Form", base.DEC, sfcm_forms, 0x0f),
  locator = ProtoField.uint8("sfcm.locator", "Locator", base.DEC, sfcm_locators, 0xc0),
  priority = ProtoField.uint8("sfcm.priority", "Priority", base.DEC, nil, 0x07),
  dscp = ProtoField.uint8("sfcm.dscp", "DSCP", base.DEC, nil, 0xfc),
  level = ProtoField.uint8("sfcm.level", "Level, 0 and 255 unknown"),
  pause = ProtoField.uint32("sfcm.pause", "Pause time (ns)"),
  length = ProtoField.uint16("sfcm.length", "Octets of the flow"),
}, flow_fields("sfcm"))
sfcm.fields = sf
local sfcm_refused = refusal("sfcm")
sfcm.experts = { sfcm_refused }
sfcm.prefs.port = Pref.uint("UDP port", 58622, "sfcmUDPPort; 0 for none")

local function sfcm_simplified(range, tree)
  local six = range:len() == 38
  local address = six and 16 or 4
  tree:add(six and sf.flow_src6 or sf.flow_src4, range(0, address))
  tree:add(six and sf.flow_dst6 or sf.flow_dst4, range(address, address))
  local at = 2 * address
  tree:add(sf.flow_protocol, range(at, 1))
  tree:add(sf.flow_sport, range(at + 2, 2))
  tree:add(sf.flow_dport, range(at + 4, 2))
  local src = six and range(0, 16):ipv6() or range(0, 4):ipv4()
  return { src = tostring(src), protocol = range(at, 1):uint(), dport = range(at + 4, 2):uint() }
end

function sfcm.dissector(buffer, pinfo, root)
  if buffer:len() == 0 then return 0 end
  pinfo.cols.protocol = "SFCM"
  local all = buffer()
  local tree = root:add(sfcm, all)
  if all:len() < 10 then return bad(tree, sfcm_refused, all, "shorter than its header") end
  tree:add(sf.version, all(0, 1))
  tree:add(sf.form, all(0, 1))
  tree:add(sf.locator, all(1, 1))
  tree:add(sf.priority, all(1, 1))
  tree:add(sf.dscp, all(2, 1))
  tree:add(sf.level, all(3, 1))
  tree:add(sf.pause, all(4, 4))
  tree:add(sf.length, all(8, 2))
  local length, form = all(8, 2):uint(), all(0, 1):bitfield(4, 4)
  pinfo.cols.info = string.format("SFCM pause %d ns, priority %d, %s", all(4, 4):uint(),
    all(1, 1):bitfield(5, 3), sfcm_locators[all(1, 1):bitfield(0, 2)])
  if all(0, 1):bitfield(0, 4) ~= 0 then return bad(tree, sfcm_refused, all, "unknown version") end
  if pinfo.src_port ~= pinfo.dst_port or pinfo.dst_port < 49152 then
    return bad(tree, sfcm_refused, all, "ports that no SFCM has")
  end
  if all:len() ~= 10 + length then
    return bad(tree, sfcm_refused, all, "a length that is not the flow's")
  end
  local flow, _
  if form == 0 and (length == 14 or length == 38) then
    flow = sfcm_simplified(all(10, length), tree)
  elseif form == 1 and length >= 64 and length <= 512 then
    _, flow = add_msdu(all(10, length), sf, tree)
  else
    return bad(tree, sfcm_refused, all, "an unknown form, or a length that is not the form's")
  end
  if not flow then return bad(tree, sfcm_refused, all, "no flow") end
  if about_itself(flow, pinfo) then return bad(tree, sfcm_refused, all, "about an SFCM") end
  if flow.src ~= tostring(pinfo.net_dst) then
    return bad(tree, sfcm_refused, all, "not to the source of its flow")
  end
  return all:len()
end

-- CIM
local cim = Proto("cim", "Congestion Isolation Message")
local cf = with({
  outer = ProtoField.uint8("cim.outer_version", "Version", base.DEC, nil, 0xf0),
  subtype = ProtoField.uint8("cim.subtype", "Subtype", base.DEC, nil, 0x0f),
  version = ProtoField.uint8("cim.version", "Version", base.DEC, nil, 0xf0),
  add = ProtoField.bool("cim.add", "Add"),
  dst = ProtoField.ether("cim.dst", "Destination address of the frame"),
  src = ProtoField.ether("cim.src", "Source address of the frame"),
  vid = ProtoField.uint16("cim.vid", "VLAN identifier"),
  length = ProtoField.uint16("cim.length", "Octets of the MSDU"),
}, flow_fields("cim"))
cim.fields = cf
local cim_refused = refusal("cim")
cim.experts = { cim_refused }
cim.prefs.port = Pref.uint("UDP port", 0, "The port of CIMs over IP, which peers tell each other; 0 for none")
cim.prefs.subtype = Pref.bool("Octet of version and subtype", true,
  "Whether an octet of version and subtype stands behind EtherType 89-A2")
cim.prefs.set_adds = Pref.bool("A set bit adds", true, "Whether the add/delete bit adds when it is set")
cim.prefs.vid_low = Pref.bool("VLAN identifier in the lower bits", true,
  "Whether the VLAN identifier has the lower twelve bits of its field")

local function cim_pdu(all, pinfo, tree, over_udp)
  pinfo.cols.protocol = "CIM"
  if all:len() < 17 then return bad(tree, cim_refused, all, "shorter than its header") end
  local length = all(15, 2):uint()
  local bit = all(0, 1):bitfield(7, 1)
  local add = (bit == 1) == cim.prefs.set_adds
  local vid = all(13, 2):bitfield(cim.prefs.vid_low and 4 or 0, 12)
  tree:add(cf.version, all(0, 1))
  tree:add(cf.add, all(0, 1), add)
  tree:add(cf.dst, all(1, 6))
  tree:add(cf.src, all(7, 6))
  tree:add(cf.vid, all(13, 2), vid)
  tree:add(cf.length, all(15, 2))
  pinfo.cols.info = string.format("CIM %s VLAN %d", add and "add" or "delete", vid)
  if all(0, 1):bitfield(0, 4) ~= 0 then return bad(tree, cim_refused, all, "unknown version") end
  if vid == 4095 then bad(tree, cim_refused, all, "reserved VLAN identifier") end
  if length < 48 or length > 512 or all:len() < 17 + length then
    return bad(tree, cim_refused, all, "a length that no MSDU here has")
  end
  local kind, flow = add_msdu(all(17, length), cf, tree)
  local itself = kind == 0x89a2
  if over_udp then itself = about_itself(flow, pinfo) end
  if itself then
    bad(tree, cim_refused, all, "about a CIM")
  end
  return 17 + length
end

function cim.dissector(buffer, pinfo, root)
  if buffer:len() == 0 then return 0 end
  return cim_pdu(buffer(), pinfo, root:add(cim, buffer()), true)
end

-- Headroom measurement
local headroom = Proto("headroom", "Headroom Measurement Message")
local headroom_kinds = { request = "Request", response = "Response", both = "Response and request" }
local hf = {
  outer = ProtoField.uint8("headroom.outer_version", "Version", base.DEC, nil, 0xf0),
  subtype = ProtoField.uint8("headroom.subtype", "Subtype", base.DEC, nil, 0x0f),
  version = ProtoField.uint8("headroom.version", "Version", base.DEC, nil, 0xf0),
  code = ProtoField.uint8("headroom.code", "Kind code", base.DEC, nil, 0x03),
  kind = ProtoField.string("headroom.kind", "Kind"),
  length = ProtoField.uint8("headroom.length", "Length"),
  t1 = ProtoField.uint64("headroom.t1", "t1"),
  t2 = ProtoField.uint64("headroom.t2", "t2"),
  t3 = ProtoField.uint64("headroom.t3", "t3"),
  psn = ProtoField.uint8("headroom.psn", "PSN"),
  p_t1 = ProtoField.uint64("headroom.p_t1", "p_t1"),
  p_psn = ProtoField.uint8("headroom.p_psn", "p_PSN"),
}
headroom.fields = hf
local headroom_refused = refusal("headroom")
headroom.experts = { headroom_refused }
headroom.prefs.flags = Pref.bool("Kind by flags", true,
  "Whether the kind is flags (1 request, 2 response) or a number (0 request, 1 response, 2 both)")
headroom.prefs.whole = Pref.bool("Length of the whole PDU", true,
  "Whether the length counts the whole PDU, or what follows the field")

local function headroom_kind(code)
  if headroom.prefs.flags then
    return ({ [1] = "request", [2] = "response", [3] = "both" })[code]
  end
  return ({ [0] = "request", [1] = "response", [2] = "both" })[code]
end

-- `all` starts behind the EtherType.
local function headroom_pdu(all, pinfo, root)
  pinfo.cols.protocol = "HEADROOM"
  local tree = root:add(headroom, all)
  if all:len() < 46 then return bad(tree, headroom_refused, all, "shorter than a frame") end
  local code, length = all(1, 1):bitfield(6, 2), all(2, 1):uint()
  local kind = headroom_kind(code)
  tree:add(hf.outer, all(0, 1))
  tree:add(hf.subtype, all(0, 1))
  tree:add(hf.version, all(1, 1))
  tree:add(hf.code, all(1, 1))
  tree:add(hf.length, all(2, 1))
  if all(1, 1):bitfield(0, 4) ~= 0 then
    return bad(tree, headroom_refused, all, "unknown version")
  end
  if not kind then return bad(tree, headroom_refused, all, "unknown kind") end
  tree:add(hf.kind, all(1, 1), headroom_kinds[kind])
  pinfo.cols.info = string.format("Headroom %s, PSN %d", headroom_kinds[kind]:lower(), all(35, 1):uint())
  local octets = (kind == "both" and 44 or 35) - (headroom.prefs.whole and 0 or 2)
  if length ~= octets then
    return bad(tree, headroom_refused, all, "a length that is not the kind's")
  end
  tree:add(hf.t1, all(3, 8))
  if kind ~= "request" then
    tree:add(hf.t2, all(11, 8))
    tree:add(hf.t3, all(19, 8))
  end
  tree:add(hf.psn, all(35, 1))
  if kind == "both" then
    tree:add(hf.p_t1, all(36, 8))
    tree:add(hf.p_psn, all(44, 1))
  end
  return 45
end

-- EtherType 89-A2, which CIM and the headroom measurement share
local shared = Proto("cim_ethertype", "EtherType 89-A2")
local shared_refused = refusal("cim_ethertype")
shared.experts = { shared_refused }

function shared.dissector(buffer, pinfo, root)
  if buffer:len() == 0 then return 0 end
  local all = buffer()
  if not cim.prefs.subtype then return cim_pdu(all, pinfo, root:add(cim, all), false) end
  local version, subtype = all(0, 1):bitfield(0, 4), all(0, 1):bitfield(4, 4)
  if version == 0 and subtype == 1 then return headroom_pdu(all, pinfo, root) end
  if version == 0 and subtype == 0 and all:len() > 1 then
    local tree = root:add(cim, all)
    tree:add(cf.outer, all(0, 1))
    tree:add(cf.subtype, all(0, 1))
    return 1 + cim_pdu(all(1), pinfo, tree, false)
  end
  return bad(root:add(shared, all), shared_refused, all, "neither a CIM nor a headroom measurement")
end

-- CNM and CN-TAG
local cnm = Proto("cnm", "Congestion Notification Message")
local nf = with({
  version = ProtoField.uint8("cnm.version", "Version", base.DEC, nil, 0xf0),
  feedback = ProtoField.uint8("cnm.feedback", "Quantized feedback", base.DEC, nil, 0x3f),
  cpid = ProtoField.uint64("cnm.cpid", "Congestion point", base.HEX),
  offset = ProtoField.int16("cnm.q_offset", "Queue offset"),
  delta = ProtoField.int16("cnm.q_delta", "Queue delta"),
  priority = ProtoField.uint8("cnm.priority", "Encapsulated priority", base.DEC, nil, 0xe0),
  dst = ProtoField.ether("cnm.dst", "Encapsulated destination address"),
  length = ProtoField.uint16("cnm.length", "Octets of the MSDU"),
}, flow_fields("cnm"))
cnm.fields = nf
local cnm_refused = refusal("cnm")
cnm.experts = { cnm_refused }

function cnm.dissector(buffer, pinfo, root)
  if buffer:len() == 0 then return 0 end
  pinfo.cols.protocol = "CNM"
  local all = buffer()
  local tree = root:add(cnm, all)
  if all:len() < 24 then return bad(tree, cnm_refused, all, "shorter than its header") end
  tree:add(nf.version, all(0, 1))
  tree:add(nf.feedback, all(1, 1))
  tree:add(nf.cpid, all(2, 8))
  tree:add(nf.offset, all(10, 2))
  tree:add(nf.delta, all(12, 2))
  tree:add(nf.priority, all(14, 1))
  tree:add(nf.dst, all(16, 6))
  tree:add(nf.length, all(22, 2))
  pinfo.cols.info = string.format("CNM feedback %d", all(1, 1):bitfield(2, 6))
  local length = all(22, 2):uint()
  if all(0, 1):bitfield(0, 4) ~= 0 then return bad(tree, cnm_refused, all, "unknown version") end
  if length > 64 or all:len() < 24 + length then
    return bad(tree, cnm_refused, all, "a length that no MSDU here has")
  end
  if length > 0 and add_msdu(all(24, length), nf, tree) == 0x22e7 then
    bad(tree, cnm_refused, all, "about a CNM")
  end
  return 24 + length
end

local cn_tag = Proto("cn_tag", "CN-TAG")
local tf = {
  flow = ProtoField.uint16("cn_tag.flow", "Flow identifier"),
  kind = ProtoField.uint16("cn_tag.type", "EtherType", base.HEX),
}
cn_tag.fields = tf

function cn_tag.dissector(buffer, pinfo, root)
  if buffer:len() == 0 then return 0 end
  local all = buffer()
  local tree = root:add(cn_tag, all(0, math.min(4, all:len())))
  if all:len() <= 4 then return all:len() end
  tree:add(tf.flow, all(0, 2))
  tree:add(tf.kind, all(2, 2))
  ethertypes:try(all(2, 2):uint(), all(4):tvb(), pinfo, root)
  return all:len()
end

-- Where they are found
ethertypes:add(0x89a2, shared)
ethertypes:add(0x22e7, cnm)
ethertypes:add(0x22e9, cn_tag)

-- Keeps a protocol at the port that its preference names.
local function follow_port(proto)
  local at = 0
  local function move()
    if proto.prefs.port == at then return end
    if at ~= 0 then udp_ports:remove(at, proto) end
    at = proto.prefs.port
    if at ~= 0 then udp_ports:add(at, proto) end
  end
  proto.prefs_changed = move
  move()
end

follow_port(sfcm)
follow_port(cim)
