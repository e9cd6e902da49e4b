import type { CollectorEntry } from './identify.ts'

/** As deep as entries of `collectors:` stand in a configuration. */
const indent = '      '

/** Entries of `collectors:` as YAML that every parser reads alike: addresses and symbols stay text. */
export function entriesText(entries: readonly CollectorEntry[]): string {
  return entries.map(entryText).join('\n')
}

function entryText({ use, options }: CollectorEntry): string {
  const lines = Object.entries(options).flatMap(([key, value]) => {
    if (key !== 'values') return [`${indent}    ${key}: ${flow(value)}`]
    const values = Object.entries(value as Readonly<Record<string, unknown>>)
    return [`${indent}    values:`, ...values.map(([label, each]) => `${indent}      ${flow(label)}: ${flow(each)}`)]
  })
  return [`${indent}- use: ${use}`, `${indent}  options:`, ...lines].join('\n')
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([key, part]) => `${key}: ${flow(part)}`)
      .join(', ')} }`
  }
  return typeof value === 'string' && !isPlain(value) ? JSON.stringify(value) : String(value)
}

/** Whether a text means itself without quotes, also to parsers of YAML 1.1. */
function isPlain(text: string): boolean {
  return /^[A-Za-z][\w-]*$/.test(text) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
}
