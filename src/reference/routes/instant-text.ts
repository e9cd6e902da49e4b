/** An instant in this service's notation: UTC, with a fraction only if there is one (`2026-11-20T13:00:00Z`). */
export function instantText(instantMs: number): string {
  return new Date(instantMs).toISOString().replace('.000Z', 'Z')
}
