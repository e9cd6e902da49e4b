/** Why a flush ended before a verdict was recorded for everything due. */
export type Stop =
  | { readonly kind: 'transient'; readonly reason: string }
  | { readonly kind: 'key-refused'; readonly reason: string }
  | { readonly kind: 'misdirected'; readonly reason: string }
  | { readonly kind: 'systemic'; readonly reason: string }
  | { readonly kind: 'stopped'; readonly reason: string }
