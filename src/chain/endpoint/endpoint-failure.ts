import { basename } from 'node:path'
import { keysInHost, shownHost } from '../../model/host.ts'

/**
 * What one endpoint did wrong. `unreachable`: it is dead, or answers nothing that can be understood; `refused`: it
 * answered an error; `slow`: it did not answer this in time, but answers other questions; `behind`: it has no block past
 * the hour; `too-much`: the same in smaller parts may pass; `rate`: it was asked too often; `pruned`: it does not have the state of that block
 * any more; `recent-state`: nor that of one of its last blocks, which every node should have; `unknown-block`: it does
 * not know that block, whether not yet or not any more; `no-address`: where it is cannot be read; `no-logs`: it serves
 * no logs, not even of single blocks.
 */
export type FailureKind =
  | 'unreachable'
  | 'refused'
  | 'slow'
  | 'wrong-id'
  | 'behind'
  | 'too-much'
  | 'rate'
  | 'pruned'
  | 'recent-state'
  | 'unknown-block'
  | 'no-address'
  | 'no-logs'

/**
 * One endpoint could not serve: the next one may. It never holds the endpoint's URL, nor an error of a library (whose
 * text, stack and cause do), only the host and a short reason.
 */
export class EndpointFailure extends Error {
  override readonly name = 'EndpointFailure'
  readonly host: string
  readonly reason: string
  readonly kind: FailureKind
  /** When it may be asked again, as it says itself: milliseconds since 1970. */
  readonly retryAtMs: number | undefined

  constructor(host: string, reason: string, kind: FailureKind = 'unreachable', retryAtMs?: number) {
    super(`${host} ${reason}`)
    this.host = host
    this.reason = reason
    this.kind = kind
    this.retryAtMs = retryAtMs
  }
}

/**
 * A node refuses several calls in one request. `calls`: there are too many of them; `chars`: their text is too long;
 * `answer`: what they come to is too much.
 */
export class BatchRefused extends EndpointFailure {
  readonly because: 'calls' | 'chars' | 'answer'

  constructor(host: string, reason: string, because: 'calls' | 'chars' | 'answer') {
    super(host, reason, 'too-much')
    this.because = because
  }
}

/** It did not answer in time: what it was asked may have been too much for it. */
export class TimedOut extends EndpointFailure {}

/**
 * An endpoint failed at one read, while it serves others of that block. Whatever its words: it says nothing of the
 * endpoint, nor of the other reads.
 */
export class ReadFailure extends EndpointFailure {}

/** Host and port of an endpoint's URL without a key in a subdomain, or the file name of an IPC path: all that may be shown of it. */
export function hostOf(url: string): string {
  return isNetworkUrl(url) ? shownHost(new URL(url)) : basename(url)
}

/** Whether an address is a URL with a host, and not the path of an IPC socket. */
export function isNetworkUrl(url: string): boolean {
  return /^(https?|wss?):\/\//i.test(url) && URL.canParse(url)
}

/** Parts of a URL shorter than this are words such as `v3` or `mainnet`, no keys. */
const secretCharsMin = 8
const reasonCharsMax = 160

/** What a node says, made safe to show: one short line, without any URL and without the parts of its own URL. */
export function redacted(text: string, url: string): string {
  const line = text.replace(/\s+/g, ' ').replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '(URL)')
  const clean = secretsOf(url).reduce((rest, secret) => rest.replaceAll(secret, '(redacted)'), line)
  return clean.length > reasonCharsMax ? `${clean.slice(0, reasonCharsMax)}…` : clean
}

function secretsOf(url: string): string[] {
  if (!isNetworkUrl(url)) return []
  const { hostname, username, password, pathname, searchParams, hash } = new URL(url)
  const parts = [
    ...keysInHost(hostname),
    username,
    password,
    ...pathname.split('/'),
    ...searchParams.values(),
    hash.slice(1),
  ]
  // As it is sent in a header: a node may repeat that, too.
  const basic = Buffer.from(`${decoded(username)}:${decoded(password)}`)
    .toString('base64')
    .replace(/=+$/, '')
  const forms = [...parts.flatMap(part => [part, decoded(part)]), ...(username || password ? [basic] : [])]
  return [...new Set(forms)].filter(part => part.length >= secretCharsMin).sort((a, b) => b.length - a.length)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
