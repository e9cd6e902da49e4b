import { basename } from 'node:path'
import { secretPartsOf, shownHost } from '../../model/host.ts'
import { shortened } from '../../model/text.ts'

/**
 * Kind of an endpoint's failure. `unreachable`: dead, or its answers cannot be understood; `refused`: an error answer;
 * `slow`: no answer in time to this call, but to others; `behind`: no block past the hour; `too-much`: smaller parts
 * may pass; `rate`: asked too often; `pruned`: the block's state is gone; `recent-state`: even the state of one of its
 * last blocks is missing, which every node should have; `unknown-block`: the block is not known yet, or not any more;
 * `wrong-block`: what it reads is not certain to be of the block that was asked for; `no-address`: its address cannot
 * be read; `no-logs`: it serves no logs, not even of single blocks, or not all.
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
  | 'wrong-block'
  | 'no-address'
  | 'no-logs'

/**
 * An endpoint could not serve a read; another one may. It holds only the host and a short reason: never the URL, nor a
 * library's error, whose text, stack and cause contain it.
 */
export class EndpointFailure extends Error {
  override readonly name = 'EndpointFailure'
  readonly host: string
  readonly reason: string
  readonly kind: FailureKind
  /** The endpoint's retry-after, in milliseconds since 1970. */
  readonly retryAtMs: number | undefined
  /** Advice for a person; absent where it follows from the kind. */
  readonly fix: string | undefined

  constructor(host: string, reason: string, kind: FailureKind = 'unreachable', retryAtMs?: number, fix?: string) {
    super(`${host} ${reason}`)
    this.host = host
    this.reason = reason
    this.kind = kind
    this.retryAtMs = retryAtMs
    this.fix = fix
  }
}

/**
 * A node refuses several calls in one request. `calls`: there are too many; `chars`: the request is too long; `answer`:
 * the answer would be too large.
 */
export class BatchRefused extends EndpointFailure {
  readonly because: 'calls' | 'chars' | 'answer'

  constructor(host: string, reason: string, because: 'calls' | 'chars' | 'answer') {
    super(host, reason, 'too-much')
    this.because = because
  }
}

/** No answer in time: the calls may have been too much for the endpoint. */
export class TimedOut extends EndpointFailure {}

/**
 * An endpoint failed at one read but serves others of that block. It says nothing about the endpoint or the other
 * reads.
 */
export class ReadFailure extends EndpointFailure {}

/** An endpoint was asked and does not have a part of an old block: found by its answers, not by its words. */
export class StateMissing extends EndpointFailure {
  constructor(host: string, reason: string) {
    super(host, reason, 'pruned')
  }
}

/**
 * Host and port of an endpoint's URL, without a key in a subdomain; for IPC, the file name. Nothing else of an address
 * may be shown.
 */
export function hostOf(url: string): string {
  return isNetworkUrl(url) ? shownHost(new URL(url)) : basename(url)
}

/** Whether an address is a URL with a host, not the path of an IPC socket. */
export function isNetworkUrl(url: string): boolean {
  return /^(https?|wss?):\/\//i.test(url) && URL.canParse(url)
}

const reasonCharsMax = 160

/** A node's message made safe to show: one short line without URLs and without the secret parts of its own URL. */
export function redacted(text: string, url: string): string {
  const line = text.replace(/\s+/g, ' ').replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '(URL)')
  const secrets = isNetworkUrl(url) ? secretPartsOf(url) : []
  const clean = secrets.reduce((rest, secret) => rest.replaceAll(secret, '(redacted)'), line)
  return shortened(clean, reasonCharsMax)
}
