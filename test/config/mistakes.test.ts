import { describe, expect, it } from 'vitest'
import { linesOf } from './file.ts'

/** Each: what it is about, the file, the mistakes with their exact places and words. */
type Case = readonly [about: string, text: string, ...mistakes: string[]]

const fine = 'protocols: [{ id: a, name: A, collectors: [{ use: host }] }]\n'

const remote = 'service: { url: "https://m.example.com", key: { env: KEY } }\n'

function tell(about: string, cases: readonly Case[]) {
  describe(about, () => {
    it.each(cases)('%s', (_, text, ...mistakes) => expect(linesOf(text)).toEqual(mistakes))
  })
}

tell('keys', [
  ['a typo', `servise: embedded\n${fine}`, '1:1: unknown key "servise" → did you mean "service"?'],
  [
    'an unknown key',
    `service: embedded\nverbosity: 3\n${fine}`,
    '2:1: unknown key "verbosity" → known here: service, proxy, ca, data, fleet, collect, delivery, outbox, status, log, heartbeat, notify, chains, include, prices, tokenPrices, lists, protocols',
  ],
  [
    'what stands under a typo is checked too',
    'service: embedded\nprotocol:\n  - id: A B\n    nmae: A\n    colectors:\n      - usee: 5\n',
    '2:1: unknown key "protocol" → did you mean "protocols"?',
    '3:9: protocols[0].id: "A B" is not a slug of lowercase letters, digits, - and _ → write a-b',
    '4:5: unknown key "nmae" in protocols[0] → did you mean "name"?',
    '5:5: unknown key "colectors" in protocols[0] → did you mean "collectors"?',
    '6:9: unknown key "usee" in protocols[0].collectors[0] → did you mean "use"?',
    '6:15: protocols[0].collectors[0].use: must be text, not the number 5 → put it in quotes: "5"',
  ],
  [
    'options next to use',
    'service: embedded\nprotocols:\n  - id: a\n    name: A\n    collectors:\n      - use: http-json\n        url: http://a.test/\n        pointer: /a\n',
    '7:9: unknown key "url" in protocols[0].collectors[0] → it belongs under options:, if the collector has it; known here: use, id, options, since, at, every, deadline, machine',
    '8:9: unknown key "pointer" in protocols[0].collectors[0] → it belongs under options:, if the collector has it; known here: use, id, options, since, at, every, deadline, machine',
  ],
  [
    'a key of another map',
    `service: embedded\nkeep: 3d\nlisten: 127.0.0.1:9464\n${fine}`,
    '2:1: unknown key "keep" → it belongs under outbox:',
    '3:1: unknown key "listen" → it belongs under status:',
  ],
  [
    'a map in place of a list, and all that is in it',
    'service: { url: https://m.example.com }\nprotocols:\n  id: A B\n  name: A\n  collectors:\n    usee: host\n',
    '2:1: protocols: must be a list, not a map → write it like [{ id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }]',
    '3:3: protocols[0]: no API key, neither here nor at the service → add key: { file: /run/secrets/metrics_key } to service, or to this protocol',
    '3:7: protocols[0].id: "A B" is not a slug of lowercase letters, digits, - and _ → write a-b',
    '5:3: protocols[0].collectors: must be a list, not a map → write it like [{ use: host }]',
    '6:5: unknown key "usee" in protocols[0].collectors[0] → did you mean "use"?',
  ],
  [
    'maps by name in place of a list, and all that is in them',
    'service: embedded\nprotocols:\n  one: { id: a, name: 5, collectors: [{ use: host }] }\n  two: { id: A, name: B }\n',
    '2:1: protocols: must be a list, not a map → write it like [{ id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }]',
    '3:23: protocols[0].name: must be text, not the number 5 → put it in quotes: "5"',
    '4:8: missing: protocols[1].collectors → add it, for example collectors: [{ use: host }]',
    '4:14: protocols[1].id: "A" is not a slug of lowercase letters, digits, - and _ → write a',
  ],
  [
    'no key, and protocols that cannot be read',
    'service: { url: https://m.example.com }\nprotocols: 3\n',
    '1:1: service: no API key, neither here nor at a protocol → add key: { file: /run/secrets/metrics_key } to it, or to each protocol',
    '2:12: protocols: must be a list, not the number 3 → write it like [{ id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }]',
  ],
  [
    'a key given twice',
    `service: embedded\ndata: a\n${fine}data: b\n`,
    '4:1: this key is given twice; the first is on line 2 → keep one of them',
  ],
  [
    'missing keys',
    'data: ../data\n',
    '1:1: missing: service → add it, for example service: embedded',
    '1:1: missing: protocols → add it, for example protocols: [{ id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }]',
  ],
  [
    'missing keys of a protocol and a chain',
    'service: embedded\nchains:\n  main: { rpc: [http://127.0.0.1:8545] }\nprotocols:\n  - id: a\n    collectors:\n      - options: {}\n',
    '3:3: missing: chains.main.id → add it, for example id: 1',
    '5:5: missing: protocols[0].name → add it, for example name: Awesome Vault',
    '7:9: missing: protocols[0].collectors[0].use → add it, for example use: host',
  ],
  [
    'keys without a value',
    'service:\ndata:\nprotocols:\n  -\n',
    '1:1: service: has no value → write one, for example embedded',
    '2:1: data: has no value → write one, for example ../data, or remove the key',
    '4:3: protocols[0]: has no value → write one, for example { id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }, or remove the entry',
  ],
])

tell('a fleet', [
  [
    'the address of a database that is written in the file',
    `${remote}data: { postgres: "postgres://tides:hunter2hunter2@db/tides" }\n${fine}`,
    '2:19: data.postgres: the address of a database is never written in this file, only its place → write { env: DATABASE_URL } or { file: /run/secrets/database_url }',
  ],
  [
    'the address of a database in the place of the folder',
    `${remote}data: postgres://tides:hunter2hunter2@db/tides\n${fine}`,
    '2:7: data: the address of a database is never written in this file → write { postgres: { env: DATABASE_URL } }',
  ],
  [
    'the address of a database in the place of its variable',
    `${remote}data: { postgres: { env: "postgres://tides:hunter2hunter2@db/tides" } }\n${fine}`,
    '2:26: data.postgres.env: this is not the name of an environment variable → write its name, like METRICS_KEY, not its value',
  ],
  [
    'a database without the place of its address',
    `${remote}data: { postgres: {} }\n${fine}`,
    '2:9: data.postgres: says neither file nor env → write one of { file: … } and { env: … }',
  ],
  [
    'the embedded service, of which each daemon would have its own',
    `service: embedded\ndata: { postgres: { env: DATABASE_URL } }\n${fine}`,
    '1:10: service: each daemon of a fleet would have an embedded service of its own → name a service by its url, or keep the data in a folder: data: ../data',
  ],
  [
    'lanes that do not exist, and a name with a blank',
    `${remote}data: { postgres: { env: DATABASE_URL } }\nfleet: { name: "eu 1", lanes: [mian, web, machine/eu-1, "machine/e u"] }\nchains: { main: { id: 1, rpc: [./geth.ipc] } }\n${fine}`,
    '3:16: fleet.name: "eu 1" is not a name of letters, digits, ., - and _ → write a name like eu-1',
    '3:32: fleet.lanes[0]: "mian" is neither a chain under chains: nor web nor machine/NAME → did you mean main?',
    '3:57: fleet.lanes[3]: "e u" is not a name of letters, digits, ., - and _ → write a name like eu-1',
  ],
  [
    'keys of a fleet where the outbox is in a folder',
    `${remote}fleet: { name: eu-1 }\nprotocols: [{ id: a, name: A, collectors: [{ use: host, machine: eu-1 }] }]\n`,
    '2:1: fleet: the outbox is in a folder, so there is no fleet → remove it, or write data: { postgres: { env: DATABASE_URL } }',
    '3:57: protocols[0].collectors[0].machine: the outbox is in a folder, so there is no fleet → remove it, or write data: { postgres: { env: DATABASE_URL } }',
  ],
])

tell('values', [
  [
    'durations',
    `service: embedded\ncollect: { deadline: 60 }\ndelivery: { timeout: 1.5s }\n${fine}`,
    '2:22: collect.deadline: must be text, not the number 60 → write it like 60s',
    '3:22: delivery.timeout: "1.5s" is not a duration → write a whole number and its unit: 500ms, 60s, 5m',
  ],
  [
    'a duration that is too long',
    `service: embedded\ncollect: { deadline: 2h }\n${fine}`,
    '2:22: collect.deadline: "2h" is too long → write at most 30m',
  ],
  [
    'a history that is too short',
    `service: embedded\noutbox: { keep: 7d }\n${fine}`,
    '2:17: outbox.keep: "7d" is too short → write at least 8d',
  ],
  [
    'numbers',
    `service: embedded\ndelivery: { inFlight: 0, pace: fast }\n${fine}`,
    '2:23: delivery.inFlight: must be at least 1 → write it like 4',
    '2:32: delivery.pace: must be a number, not the text "fast" → write it like 5',
  ],
  [
    'a choice',
    `service: embedded\nlog: { level: warning }\n${fine}`,
    '2:15: log.level: must be debug, info, warn or error, not the text "warning" → did you mean warn?',
  ],
  [
    'where to listen',
    `service: embedded\nstatus: { listen: "::1:9464" }\n${fine}`,
    '2:19: status.listen: "::1:9464" is not host:port → write host:port, like "127.0.0.1:9464" or "[::1]:9464"',
  ],
  [
    'a port out of range',
    `service: embedded\nstatus: { listen: "127.0.0.1:94640" }\n${fine}`,
    '2:19: status.listen: there is no port 94640 → write a port from 1 to 65535, or 0 for any free one',
  ],
  [
    'the kinds of a protocol',
    'service: embedded\nprotocols:\n  - id: my___vault\n    name: 7\n    logo: logo.png\n    chains: ethereum\n    register: yes\n    collectors: { use: host }\n',
    '3:9: protocols[0].id: "my___vault" holds ___, which separates an id from a label → write my__vault',
    '4:11: protocols[0].name: must be text, not the number 7 → put it in quotes: "7"',
    '5:11: protocols[0].logo: this is not an http(s):// address → write it like https://example.com/logo.png',
    '6:13: protocols[0].chains: must be a list, not the text "ethereum" → write it like [ethereum]',
    '7:15: protocols[0].register: must be true or false, not the text "yes" → write true or false, without quotes',
    '8:5: protocols[0].collectors: must be a list, not a map → write it like [{ use: host }]',
  ],
  [
    'the kinds of a chain',
    `service: embedded\nchains:\n  my/chain: { id: 1, rpc: [http://127.0.0.1:8545] }\n  x: { id: "1", rpc: [] }\n${fine}`,
    '3:3: chains["my/chain"]: a name begins with a letter or digit and goes on with these, ". _ -" and blanks → write a name like ethereum or ETH',
    '4:12: chains.x.id: must be a whole number, not the text "1" → write it without quotes: 1',
    '4:17: chains.x.rpc: must have at least 1 entry → write it like [http://127.0.0.1:8545]',
  ],
  [
    'an hour that is not full',
    'service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: host, since: 2026-11-20T13:30:00Z }] }]\n',
    '2:64: protocols[0].collectors[0].since: "2026-11-20T13:30:00Z" is not a full hour → 2026-11-20T13:00:00Z or 2026-11-20T14:00:00Z',
  ],
  [
    'no collector',
    'service: embedded\nprotocols: [{ id: a, name: A, collectors: [] }]\n',
    '2:31: protocols[0].collectors: must have at least 1 entry → write it like [{ use: host }]',
  ],
])

tell('what looks like something else', [
  [
    'an hour and a minute for a host and a port',
    `service: embedded\nstatus: { listen: 1:30 }\n${fine}`,
    '2:19: status.listen: "1" is not a host: an IPv4 address has four numbers → write host:port, like "127.0.0.1:9464" or "[::1]:9464"',
  ],
  [
    'a number in another notation',
    `service: embedded\nchains: { a: { id: 0x7a69, rpc: [x.ipc] }, b: { id: 31_337, rpc: [x.ipc] } }\n${fine}`,
    '2:20: chains.a.id: must be a whole number, not the text "0x7a69" → write it as a decimal number: 31337',
    '2:53: chains.b.id: must be a whole number, not the text "31_337" → write its digits alone: 31337',
  ],
  [
    'a decimal comma, which is no separator of thousands',
    `service: embedded\nchains: { a: { id: "1,5", rpc: [x.ipc] } }\n${fine}`,
    '2:20: chains.a.id: must be a whole number, not the text "1,5" → write it like 1',
  ],
  [
    'a price without a source: no example is a price',
    `service: embedded\nprices: { A: , B: { tokens: {} } }\n${fine}`,
    '2:11: prices.A: has no value → write one, or remove the key',
    '2:16: missing: prices.B.sources → add it, for example sources: [{ url: "https://api.example.com/price?at={hour}", pointer: /usd }]',
  ],
  [
    'fewer endpoints than must agree',
    `service: embedded\nchains: { a: { id: 1, rpc: [x.ipc], agree: 2 } }\n${fine}`,
    '2:44: chains.a.agree: as many endpoints of different hosts are needed, and rpc has 1 → add endpoints of other hosts; a smaller number lets fewer of them decide what a value is',
  ],
  [
    'endpoints of one host, which cannot agree with another',
    `service: embedded\nchains: { a: { id: 1, rpc: ["http://a.test/1", { url: "http://a.test/2" }], agree: 2 } }\n${fine}`,
    '2:84: chains.a.agree: as many endpoints of different hosts are needed, and rpc has 1 → add endpoints of other hosts; a smaller number lets fewer of them decide what a value is',
  ],
  [
    'no endpoint, where nothing must agree',
    `service: embedded\nchains: { a: { id: 1, rpc: [] } }\n${fine}`,
    '2:23: chains.a.rpc: must have at least 1 entry → write it like [http://127.0.0.1:8545]',
  ],
  [
    'a price that no option can name',
    `service: embedded\nprices: { token: [{ fixed: 1 }] }\n${fine}`,
    '2:11: prices.token: no option can name it: price: token is the price of each token → give it another name',
  ],
  [
    'a variable of a shell',
    `service: { url: https://m.example.com, key: { env: $KEY } }\nchains: { a: { id: 1, rpc: [$RPC_URL, "\${RPC_URL}"] } }\n${fine}`,
    '1:52: service.key.env: a variable is named without a $ → write KEY',
    '2:29: chains.a.rpc[0]: variables are not expanded here → write { env: RPC_URL }',
    '2:39: chains.a.rpc[1]: variables are not expanded here → write { env: RPC_URL }',
  ],
  [
    'blanks that are none',
    'service: embedded\nprotocols:\n \u00a0- id: a\n',
    '3:2: this looks like a blank in the indentation, and is another character → put ordinary blanks there',
  ],
  [
    'a value where a map should be',
    `service: embedded\ncollect: 60s\nlog: debug\n${fine}`,
    '2:10: collect: must be a map, not the text "60s" → write it like { deadline: 60s }',
    '3:6: log: must be a map, not the text "debug" → write it like { level: info }',
  ],
])

tell('service and secrets', [
  [
    'a service that is nearly embedded',
    `service: embeded\n${fine}`,
    '1:10: service: must be embedded or a map, not text → did you mean embedded?',
  ],
  [
    'a service that is only an address',
    `service: https://metrics.example.com\n${fine}`,
    '1:10: service: must be embedded or a map, not text → write it like embedded or { url: https://metrics.example.com, key: { env: METRICS_KEY } }',
  ],
  [
    'HTTP beyond loopback',
    `service: { url: http://metrics.example.com, key: { env: K } }\n${fine}`,
    '1:17: service.url: http:// is only for loopback addresses: the key would be sent unencrypted → write https://',
  ],
  [
    'an address with credentials',
    `service: { url: https://me:hunter2@example.com, key: { env: K } }\n${fine}`,
    '1:17: service.url: the address holds credentials → remove what stands before @; the key goes to service.key',
  ],
  [
    'a literal key',
    `service: { url: https://example.com, key: sk_live_hunter2 }\n${fine}`,
    '1:43: service.key: a key is never written in this file, only its place → write { file: /run/secrets/metrics_key } or { env: METRICS_KEY }',
  ],
  [
    'a literal address of a heartbeat',
    `service: embedded\nheartbeat: { url: https://hc.example.com/hunter2 }\n${fine}`,
    '2:19: heartbeat.url: an address with a key in it is never written in this file, only its place → write { env: HEARTBEAT_URL } or { file: /run/secrets/heartbeat_url }',
  ],
  [
    'an address in place of a heartbeat',
    `service: embedded\nheartbeat: https://hc.example.com/hunter2\n${fine}`,
    '2:12: heartbeat: must be a map, not text → write it like { url: { env: HEARTBEAT_URL } }',
  ],
  [
    'literal addresses and a literal token of receivers',
    `service: embedded\nnotify:\n  - slack: https://hooks.example.com/hunter2\n  - { webhook: "https://a.example.com/hunter2" }\n  - telegram: { token: "123:hunter2", chat: 5 }\n${fine}`,
    '3:12: notify[0].slack: an address with a key in it is never written in this file, only its place → write { env: SLACK_URL } or { file: /run/secrets/slack_url }',
    '4:16: notify[1].webhook: an address with a key in it is never written in this file, only its place → write { env: ALERT_URL } or { file: /run/secrets/alert_url }',
    '5:24: notify[2].telegram.token: a token is never written in this file, only its place → write { env: TELEGRAM_TOKEN } or { file: /run/secrets/telegram_token }',
  ],
  [
    'receivers that are none, or two in one',
    `service: embedded\nnotify:\n  - {}\n  - { slack: { env: A }, webhook: { env: B } }\n  - { slak: { env: A } }\n  - { telegram: { token: { env: A }, chat: tides } }\n  - { telegram: { token: { env: A }, chat: 1, url: "http://api.example.com" } }\n${fine}`,
    '3:5: notify[0]: says none of webhook, slack and telegram → write one of them, like { webhook: { env: ALERT_URL } }',
    '4:5: notify[1]: says more than one of webhook, slack and telegram → write an entry for each receiver',
    '5:7: unknown key "slak" in notify[2] → did you mean "slack"?',
    '6:44: notify[3].telegram.chat: this is not a chat → write its number, like -1001234567890, or the name of a channel, like "@tides"',
    '7:52: notify[4].telegram.url: http:// is only for loopback addresses: the key would be sent unencrypted → write https://',
  ],
  [
    'a literal key in braces',
    `service: { url: https://example.com, key: { sk_live_hunter2 } }\n${fine}`,
    '1:38: service.key: says neither file nor env → write one of { file: … } and { env: … }',
    '1:45: unknown key in service.key → known here: file, env',
  ],
  [
    'a literal key as the name of a variable',
    `service: { url: https://example.com, key: { env: sk-live-hunter2 } }\n${fine}`,
    '1:50: service.key.env: this is not the name of an environment variable → write its name, like METRICS_KEY, not its value',
  ],
  [
    'file and env at once',
    `service: { url: https://example.com, key: { env: K, file: k } }\n${fine}`,
    '1:38: service.key: says both file and env → write one of { file: … } and { env: … }',
  ],
  [
    'no key anywhere',
    `service: { url: https://example.com }\n${fine}`,
    '2:13: protocols[0]: no API key, neither here nor at the service → add key: { file: /run/secrets/metrics_key } to service, or to this protocol',
  ],
  [
    'a key for the embedded service',
    'service: embedded\nprotocols: [{ id: a, name: A, key: { env: K }, collectors: [{ use: host }] }]\n',
    '2:31: protocols[0].key: the embedded service has its own key → remove this one, or name a service by its url',
  ],
  [
    'RPC addresses, of which nothing is repeated',
    `service: embedded\nchains:\n  main: { id: 1, rpc: [ftp://n/hunter2, { url: hunter2 }, 5] }\n${fine}`,
    '3:24: chains.main.rpc[0]: this is neither an http(s):// or ws(s):// address nor the path of an IPC socket → write it like http://127.0.0.1:8545 or /data/geth.ipc',
    '3:48: chains.main.rpc[1].url: this is neither an http(s):// or ws(s):// address nor the path of an IPC socket → write it like http://127.0.0.1:8545 or /data/geth.ipc',
    '3:59: chains.main.rpc[2]: must be text or a map, not the number 5 → write text or a map',
  ],
])

tell('headers of a node', [
  [
    'of a socket, which takes none',
    `service: embedded\nchains: { a: { id: 1, rpc: [{ url: x.ipc, headers: { x-team: a } }] } }\n${fine}`,
    '2:43: chains.a.rpc[0].headers: an IPC socket takes no headers → remove them, or name an http(s):// or ws(s):// address',
  ],
  [
    'secrets in the file, names that are none, headers that are ours, of which no value is repeated',
    `service: embedded\nchains:\n  a:\n    id: 1\n    rpc:\n      - url: https://n.example.com\n        headers:\n          authorization: Bearer hunter2\n          X-Api-Key: hunter2\n          bad name: x\n          Host: y\n${fine}`,
    '8:26: chains.a.rpc[0].headers.authorization: a secret is never written in this file, only its place → write { env: RPC_TOKEN } or { file: /run/secrets/rpc_token }',
    '9:22: chains.a.rpc[0].headers.X-Api-Key: a secret is never written in this file, only its place → write { env: RPC_TOKEN } or { file: /run/secrets/rpc_token }',
    '10:21: chains.a.rpc[0].headers["bad name"]: this is not the name of a header → write it like authorization',
    '11:17: chains.a.rpc[0].headers.Host: this header is set by tidegauge itself → remove it',
  ],
  [
    'a value of another kind',
    `service: embedded\nchains: { a: { id: 1, rpc: [{ url: "https://n.example.com", headers: { x-team: [a] } }] } }\n${fine}`,
    '2:72: chains.a.rpc[0].headers.x-team: must be text or a map, not a list → write text or a map',
  ],
])

tell('the way out of the machine', [
  [
    'a password in the address of the proxy',
    `${remote}proxy: http://tide:hunter2@proxy:3128\n${fine}`,
    '2:8: proxy: the address holds a name or a password, which is a secret → keep the whole address elsewhere: { env: PROXY_URL } or { file: /run/secrets/proxy_url }',
  ],
  [
    'an address without a scheme, and of another kind of proxy',
    `${remote}proxy: { url: proxy:3128, except: [socks5://a, 10.0.0.0/33, "1.2.3", "*", "*.corp", node.internal] }\n${fine}`,
    '2:15: proxy.url: this is not the http:// or https:// address of a proxy → write it like http://proxy.example.com:3128',
    '2:36: proxy.except[0]: this text is neither a host nor a network → write a name like node.internal or .example.com, an address, or a network like 10.0.0.0/8',
    '2:48: proxy.except[1]: "10.0.0.0/33" is neither a host nor a network → write a name like node.internal or .example.com, an address, or a network like 10.0.0.0/8',
    '2:61: proxy.except[2]: "1.2.3" is neither a host nor a network → write a name like node.internal or .example.com, an address, or a network like 10.0.0.0/8',
    '2:70: proxy.except[3]: "*" is neither a host nor a network → write a name like node.internal or .example.com, an address, or a network like 10.0.0.0/8',
  ],
  [
    'a SOCKS proxy',
    `${remote}proxy: socks5://proxy:1080\n${fine}`,
    '2:8: proxy: a SOCKS proxy is not used here, an HTTP proxy is → write it like http://proxy.example.com:3128',
  ],
  [
    'a variable of the shell',
    `${remote}proxy: $HTTPS_PROXY\n${fine}`,
    '2:8: proxy: variables are not expanded here → write { env: HTTPS_PROXY }',
  ],
  [
    'a path in the address of the proxy',
    `${remote}proxy: http://proxy:3128/proxy.pac\n${fine}`,
    '2:8: proxy: the address of a proxy has no path and no query → write it like http://proxy.example.com:3128',
  ],
  [
    'no address, and two',
    `${remote}proxy: { except: [a.b] }\n${fine}`,
    '2:1: proxy: says none of url, file and env → write one of { url: … }, { file: … } and { env: … }',
  ],
  [
    'a mistyped key, and a literal key of the certificate',
    `service: { url: "https://m.example.com", key: { env: KEY }, certificate: { cer: a.crt, key: ./a.key } }\nproxy: { evn: P }\n${fine}`,
    '1:76: unknown key "cer" in service.certificate → did you mean "cert"?',
    '1:93: service.certificate.key: a key is never written in this file, only its place → write { env: CLIENT_KEY } or { file: /run/secrets/client_key }',
    '2:10: unknown key "evn" in proxy → did you mean "env"?',
  ],
  [
    'headers that are ours, or secrets',
    `service: { url: "https://m.example.com", key: { env: KEY }, headers: { Authorization: { env: K }, host: a, x-api-key: s3cret, content-length: "1", x-tenant: tide } }\n${fine}`,
    '1:72: service.headers.Authorization: this header is set by tidegauge itself: the key of the service is sent in it → remove it; the key goes to service.key',
    '1:105: service.headers.host: this header is set by tidegauge itself → remove it',
    '1:119: service.headers.x-api-key: a secret is never written in this file, only its place → write { env: RPC_TOKEN } or { file: /run/secrets/rpc_token }',
    '1:143: service.headers.content-length: this header is set by tidegauge itself → remove it',
  ],
  [
    'no file',
    `${remote}ca: ~/ca.pem\n${fine}`,
    '2:5: ca: ~ is not expanded here → write the whole path, or one relative to this file',
  ],
])

tell('chains and catching up', [
  [
    'limits of a node',
    `service: embedded\nchains:\n  main: { id: 1, rpc: [{ rate: 0, batch: 1.5 }, { env: K, rat: 5 }] }\n${fine}`,
    '3:32: chains.main.rpc[0].rate: must be more than 0 → write it like 25',
    '3:42: chains.main.rpc[0].batch: must be a whole number, not the number 1.5 → write it like 100',
    '3:59: unknown key "rat" in chains.main.rpc[1] → did you mean "rate"?',
  ],
  [
    'no address, or two',
    `service: embedded\nchains:\n  main: { id: 1, rpc: [{ rate: 5 }, { env: K, file: k }] }\n${fine}`,
    '3:24: chains.main.rpc[0]: says none of url, file and env → write one of { url: … }, { file: … } and { env: … }',
    '3:37: chains.main.rpc[1]: says more than one of url, file and env → write one of { url: … }, { file: … } and { env: … }',
  ],
  [
    'an address with a key in it, of which nothing is repeated',
    `service: embedded\nchains:\n  main: { id: 1, rpc: [{ url: "https:/hunter2" }] }\n${fine}`,
    '3:31: chains.main.rpc[0].url: this is neither an http(s):// or ws(s):// address nor the path of an IPC socket → write it like http://127.0.0.1:8545 or /data/geth.ipc',
  ],
  [
    'settle beyond a day, and none written without its unit',
    `service: embedded\nchains: { a: { id: 1, rpc: [x.ipc], settle: 25h }, b: { id: 1, rpc: [x.ipc], settle: "0" } }\n${fine}`,
    '2:45: chains.a.settle: "25h" is too long → write at most 24h',
    '2:86: chains.b.settle: "0" is not a duration → write a whole number and its unit: 500ms, 60s, 5m',
  ],
  [
    'catching up less than an hour',
    `service: embedded\ncollect: { catchUp: 30m }\n${fine}`,
    '2:21: collect.catchUp: "30m" is too short → write at least 60m',
  ],
  [
    'catching up what is not kept',
    `service: embedded\ncollect: { catchUp: 9d }\noutbox: { keep: 9d }\n${fine}`,
    '2:21: collect.catchUp: hours that are not kept any more cannot be caught up: this must be less than outbox.keep → write a shorter one, or a longer outbox.keep',
  ],
])

tell('chains that options name', [
  [
    'a typo, at any depth, and in a list',
    'service: embedded\nchains: { ethereum: { id: 1, rpc: [x.ipc] } }\nprotocols:\n  - id: a\n    name: A\n    collectors:\n      - use: ./x.ts\n        options: { chain: ehtereum, of: [{ chain: base }], chains: [ethereum, etherem] }\n',
    '8:27: protocols[0].collectors[0].options.chain: there is no chain "ehtereum" under chains: → did you mean ethereum? If not, add it: chains: { ehtereum: { id: …, rpc: […] } }',
    '8:51: protocols[0].collectors[0].options.of[0].chain: there is no chain "base" under chains: → configured: ethereum; or add it: chains: { base: { id: …, rpc: […] } }',
    '8:79: protocols[0].collectors[0].options.chains[1]: there is no chain "etherem" under chains: → did you mean ethereum? If not, add it: chains: { etherem: { id: …, rpc: […] } }',
  ],
  [
    'a typo in a map by chains',
    'service: embedded\nchains: { ethereum: { id: 1, rpc: [x.ipc] } }\nprotocols:\n  - id: a\n    name: A\n    collectors:\n      - use: ./x.ts\n        options: { of: { ehtereum: { a: 1 }, ethereum: { chain: base } }, other: { of: { a: 1 } } }\n',
    '8:26: protocols[0].collectors[0].options.of.ehtereum: there is no chain "ehtereum" under chains: → did you mean ethereum? If not, add it: chains: { ehtereum: { id: …, rpc: […] } }',
    '8:65: protocols[0].collectors[0].options.of.ethereum.chain: there is no chain "base" under chains: → configured: ethereum; or add it: chains: { base: { id: …, rpc: […] } }',
  ],
  [
    'none configured at all',
    'service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: ./x.ts, options: { chain: main } }] }]\n',
    '2:77: protocols[0].collectors[0].options.chain: there is no chain "main" under chains: → add it: chains: { main: { id: …, rpc: […] } }',
  ],
])

tell('prices', [
  [
    'tokens of prices, and assets that are named by them',
    `service: embedded
chains: { ethereum: { id: 1, rpc: [x.ipc] }, base: { id: 2, rpc: [y.ipc] } }
prices:
  ETH: { sources: [{ fixed: 3000 }], tokens: { ethereum: native, bas: native } }
  USDC: { sources: [{ fixed: 1 }], tokens: { ethereum: "0x12", base: Native } }
  DAI: [{ fixed: 1 }]
  UNI: { sources: [{ price: UNY }], tokens: {} }
protocols:
  - id: a
    name: A
    collectors:
      - use: balances
        options: { of: { ethereum: { assets: [ETH, USDCC, DAI] }, base: { assets: [UNI] } } }
      - use: ./own/balances-of-mine.ts
        options: { of: { ethereum: { assets: [what, ever] } } }
`,
    '4:66: prices.ETH.tokens.bas: there is no chain "bas" under chains: → did you mean base? If not, add it: chains: { bas: { id: …, rpc: […] } }',
    '5:56: prices.USDC.tokens.ethereum: "0x12" is not an address → an address is 0x and 40 hexadecimal digits, in quotes',
    '5:70: prices.USDC.tokens.base: "Native" is not an address → an address is 0x and 40 hexadecimal digits, in quotes',
    '7:29: prices.UNI.sources[0].price: there is no price "UNY" under prices: → did you mean UNI? If not, add it: prices: { UNY: [{ chain: …, feed: "0x…" }] }',
    '13:52: protocols[0].collectors[0].options.of.ethereum.assets[1]: there is no price "USDCC" under prices: → did you mean USDC? If not, add it: prices: { USDCC: [{ chain: …, feed: "0x…" }] }',
    '13:59: protocols[0].collectors[0].options.of.ethereum.assets[2]: the price DAI has no token on ethereum → add it: prices: { DAI: { sources: […], tokens: { ethereum: "0x…" } } }, or write { token: "0x…", price: DAI } here',
    '13:84: protocols[0].collectors[0].options.of.base.assets[0]: the price UNI has no token on base → add it: prices: { UNI: { sources: […], tokens: { base: "0x…" } } }, or write { token: "0x…", price: UNI } here',
  ],
  [
    'their chains, and the prices that they and shipped collectors need',
    `service: embedded
chains: { ethereum: { id: 1, rpc: [x.ipc] } }
prices:
  ETH: [{ chain: base, feed: "0x1" }, { price: USD }]
  USDC: []
protocols:
  - id: a
    name: A
    collectors:
      - use: contract-read
        options: { values: { TVL: { product: [2, { price: ETHH }] }, V: { price: tokn } } }
      - use: ./own.ts
        options: { price: high }
`,
    '4:18: prices.ETH[0].chain: there is no chain "base" under chains: → configured: ethereum; or add it: chains: { base: { id: …, rpc: […] } }',
    '4:48: prices.ETH[1].price: there is no price "USD" under prices: → did you mean USDC? If not, add it: prices: { USD: [{ chain: …, feed: "0x…" }] }',
    '5:3: prices.USDC: must have at least 1 entry → write a list or a map',
    '11:59: protocols[0].collectors[0].options.values.TVL.product[1].price: there is no price "ETHH" under prices: → did you mean ETH? If not, add it: prices: { ETHH: [{ chain: …, feed: "0x…" }] }',
    '11:82: protocols[0].collectors[0].options.values.V.price: there is no price "tokn" under prices: → did you mean token? If not, add it: prices: { tokn: [{ chain: …, feed: "0x…" }] }',
  ],
  [
    'a circle',
    `service: embedded\nprices: { A: [{ price: B }], B: [{ fixed: 1 }, { feed: 1, price: C }], C: [{ price: A }] }\n${fine}`,
    '2:11: prices.A: needs itself: A → B → C → A → let one of them have a source of its own',
  ],
  [
    'a name',
    `service: embedded\nprices: { "a/b": [{ fixed: 1 }] }\n${fine}`,
    '2:11: prices["a/b"]: a name begins with a letter or digit and goes on with these, ". _ -" and blanks → write a name like ethereum or ETH',
  ],
])

tell('tokenPrices', [
  [
    'their chains and prices, and chains whose tokens have none',
    `service: embedded
chains: { ethereum: { id: 1, rpc: [x.ipc] } }
prices: { USDC: [{ fixed: 1 }] }
tokenPrices:
  base: [{ url: "https://e.com", pointer: /a }]
  ethereum: [{ "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48": USDT }]
protocols:
  - id: a
    name: A
    collectors:
      - use: event-sum
        options: { chain: ethereum, price: token }
      - use: balances
        options: { of: { base: { assets: [{ price: token }] }, polygon: { assets: [{ price: token }] } } }
`,
    '5:3: tokenPrices.base: there is no chain "base" under chains: → configured: ethereum; or add it: chains: { base: { id: …, rpc: […] } }',
    '6:62: tokenPrices.ethereum[0]["0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"]: there is no price "USDT" under prices: → did you mean USDC? If not, add it: prices: { USDT: [{ chain: …, feed: "0x…" }] }',
    '14:26: protocols[0].collectors[1].options.of.base: there is no chain "base" under chains: → configured: ethereum; or add it: chains: { base: { id: …, rpc: […] } }',
    '14:64: protocols[0].collectors[1].options.of.polygon: there is no chain "polygon" under chains: → configured: ethereum; or add it: chains: { polygon: { id: …, rpc: […] } }',
    '14:93: protocols[0].collectors[1].options.of.polygon.assets[0].price: there are no prices of the tokens of "polygon" under tokenPrices: → add them: tokenPrices: { polygon: [{ "0x…": USDC }] }',
  ],
])

tell('ids', [
  [
    'a protocol id used twice',
    'service: embedded\nprotocols:\n  - { id: a, name: A, collectors: [{ use: host }] }\n  - { id: a, name: B, collectors: [{ use: host }] }\n',
    '4:11: protocols[1].id: the protocol id "a" is taken by the one on line 3 → give each protocol an id of its own',
  ],
  [
    'a collector used twice',
    'service: embedded\nprotocols:\n  - id: a\n    name: A\n    collectors:\n      - use: host\n      - use: "@acme/host"\n      - use: ./own/other.ts\n        id: host\n',
    '7:14: protocols[0].collectors[1].use: the collector id "host" is taken by the one on line 6 → add an id of its own, for example id: host-2',
    '9:13: protocols[0].collectors[2].id: the collector id "host" is taken by the one on line 6 → write another, for example id: host-2',
  ],
  [
    'a collector that cannot give its name',
    'service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: "./My Own.ts" }] }]\n',
    '2:51: protocols[0].collectors[0].use: the collector needs an id, as "My Own" cannot be one → add id: my-own',
  ],
])

tell('YAML', [
  [
    'an open quote',
    'service: "embedded\nprotocols: []\n',
    '1:10: the quote that opens here is not closed → close it at the end of the text',
  ],
  [
    'an open bracket',
    'service: embedded\nprotocols: [{ id: a }\nlog: {}\n',
    '2:12: this [ or { is not closed, or a line in it is not indented → close it with ] or }; indent the lines between',
  ],
  ['a tab', 'service: embedded\n\tdata: x\n', '2:1: a tab stands in the indentation → use blanks alone'],
  [
    'a line indented too far',
    'service: embedded\nprotocols:\n  - id: a\n     name: A\n',
    '3:9: this value continues where none is expected: the next line is indented too far, or it holds a second ": " → align the next line with its neighbours, or put a value that holds ": " in quotes',
  ],
  [
    'a line indented too little',
    'service: embedded\nprotocols:\n  - id: a\n   name: A\n   collectors:\n      - use: host\n',
    '4:4: this line is indented less than the lines of its entry, and more than the "- " of it → align it with the text after the "- "',
  ],
  [
    'a colon is missing',
    'service embedded\nprotocols: []\n',
    '1:1: this is not a "key: value" line → put a colon and a blank after the key, or indent the line under the key it belongs to',
  ],
  [
    'a reserved character',
    'service: embedded\nprotocols: [{ id: a, name: @A }]\n',
    '2:28: text cannot begin with this character → put the text in quotes',
  ],
  [
    'two documents',
    'service: embedded\n---\nprotocols: []\n',
    '2:1: a second document begins here → remove the line --- or ... and what follows it',
  ],
  [
    'a tag, a long number',
    'service: embedded\nlog: !custom { level: info }\nprotocols: [{ id: a, name: A, collectors: [{ use: host, options: { n: 12345678901234567890, d: 0.1234567890123456789, e: [0.1, 1.000000000000000000, 123456789.1234567] } }] }]\n',
    '2:6: tags (!) are not used here → write the value itself; put text that begins with ! in quotes',
    '3:71: a number this long would lose digits → put it in quotes',
    '3:96: a number this long would lose digits → put it in quotes',
  ],
  [
    'nesting beyond sense',
    `service: embedded\nlog: ${'['.repeat(40)}${']'.repeat(40)}\n`,
    '2:38: maps and lists are nested more than 32 deep here → write them flatter',
  ],
  [
    'YAML 1.1',
    '%YAML 1.1\n---\nservice: embedded\n',
    '1:1: only YAML 1.2 is read → remove the line that begins with %YAML',
  ],
])

tell('files', [
  ['empty', '', '1:1: the file is empty → service and protocols are required; tidegauge init writes a beginning'],
  [
    'comments',
    '# x\n',
    '1:1: the file is empty → service and protocols are required; tidegauge init writes a beginning',
  ],
  [
    'a list',
    '- a\n',
    '1:1: the file is a list, not a map → write it as key: value lines; service and protocols are required',
  ],
  [
    'control characters',
    'a: 1\nb: \u0000\n',
    '2:4: a control character stands here → remove it; is the file really text?',
  ],
])

tell('lists', [
  [
    'their chains, and the lists that shipped collectors read over, on the same chain',
    `service: embedded
chains: { ethereum: { id: 1, rpc: [x.ipc] }, base: { id: 8453, rpc: [y.ipc] } }
lists:
  pairs: { chain: polygon, fixed: [] }
  vaults: { chain: base, fixed: [] }
protocols:
  - id: a
    name: A
    collectors:
      - use: contract-read
        options: { chain: ethereum, each: pair, values: {} }
      - use: erc4626-vault
        options: { chain: ethereum, vault: { each: vaults } }
      - use: balances
        options: { of: { base: { owners: { each: vaults }, assets: [{ token: { each: tokens }, price: token }] } } }
      - use: ./own.ts
        options: { each: day }
`,
    '4:19: lists.pairs.chain: there is no chain "polygon" under chains: → configured: ethereum, base; or add it: chains: { polygon: { id: …, rpc: […] } }',
    '11:43: protocols[0].collectors[0].options.each: there is no list "pair" under lists: → did you mean pairs? If not, add it: lists: { pair: { chain: …, fixed: ["0x…"] } }',
    '13:52: protocols[0].collectors[1].options.vault.each: the list vaults is of base, and this is read on ethereum → name a list of the same chain',
    '15:86: protocols[0].collectors[2].options.of.base.assets[0].token.each: there is no list "tokens" under lists: → configured: pairs, vaults; or add it: lists: { tokens: { chain: …, fixed: ["0x…"] } }',
    '15:103: protocols[0].collectors[2].options.of.base.assets[0].price: there are no prices of the tokens of "base" under tokenPrices: → add them: tokenPrices: { base: [{ "0x…": USDC }] }',
  ],
  [
    'a sixth call that waits for five',
    `service: embedded
chains: { ethereum: { id: 1, rpc: [x.ipc] } }
lists:
  pairs: { chain: ethereum, length: l, item: i }
protocols:
  - id: a
    name: A
    collectors:
      - use: contract-read
        options:
          chain: ethereum
          each: pairs
          values:
            A: { call: a }
            B: { call: b, address: A }
            C: { call: c, args: [[B]] }
            D: { call: d, decimals: { address: C } }
`,
    '17:13: protocols[0].collectors[0].options.values.D: needs 6 calls one after the other, 2 of them for the list, and an hour has at most 5 → write an address in place of one that is read',
  ],
])
