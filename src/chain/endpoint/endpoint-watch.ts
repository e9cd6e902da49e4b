import type { FailureKind } from './endpoint-failure.ts'

/** Failure of an endpoint, whatever work it was. `quarantine`: its answers are contradicted. */
export interface EndpointFailed {
  /** The same object each time. */
  readonly endpoint: { readonly host: string }
  readonly kind: FailureKind | 'quarantine'
  /** A phrase that follows the host; no secret. */
  readonly reason: string
}

/** Sees how the endpoints of a chain do. */
export interface EndpointWatch {
  /** Called after each failed work. */
  failed(failure: EndpointFailed): void
  /** Called after each work that went well, unless the endpoint is in quarantine. */
  served(endpoint: { readonly host: string }): void
  /** Called once for each kind of mistake in an endpoint's answers that does no harm, with a phrase that follows the host. */
  remarked(endpoint: { readonly host: string }, remark: string): void
}
