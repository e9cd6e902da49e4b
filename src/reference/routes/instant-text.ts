/** An instant as this service writes it: UTC, with a fraction only where there is one (`2026-11-20T13:00:00Z`). */
export function instantText(instantMs: number): string {
  return new Date(instantMs).toISOString().replace('.000Z', 'Z')
}
