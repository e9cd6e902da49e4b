import { z } from 'zod'
import { logoUrl } from './addresses.ts'
import { machine } from './data.ts'
import { deadlineMsMax } from './limits.ts'
import { key, textField } from './text-field.ts'
import { displayText, duration, durationPattern, fullHour, slug, slugPattern } from './text-parsers.ts'

const collector = z
  .strictObject({
    use: textField(displayText, {
      description: 'A name in collectors/, a path relative to this file (./my/own.ts), or an npm package.',
      examples: ['host'],
    }),
    id: textField(slug, {
      description: 'Own id, unique in its protocol. Default: the last part of use, without its extension.',
      examples: ['host'],
      pattern: slugPattern,
    }).optional(),
    options: z
      .record(z.string(), z.unknown())
      .prefault({})
      .meta({ description: 'Options of the collector; its own schema says which.', examples: [{ chain: 'ethereum' }] }),
    since: textField(fullHour, {
      description:
        'First hour that is expected of it; of one that reads only "now", not before its first run. Default: the hour in which the daemon first runs it.',
      examples: ['2026-11-20T13:00:00Z'],
    }).optional(),
    deadline: textField(duration(deadlineMsMax), {
      description: 'Longest time for this collector and one hour. Default: that of collect.',
      examples: ['60s'],
      pattern: durationPattern,
    }).optional(),
    machine: machine.optional(),
  })
  .meta({ description: 'A collector that reads values every full hour.', examples: [{ use: 'host' }] })

const example = { id: 'awesome-vault', name: 'Awesome Vault', collectors: [{ use: 'host' }] }

const protocol = z
  .strictObject({
    id: textField(slug, {
      description: 'Slug, unique at the service; it never changes. Lowercase letters, digits, - and _.',
      examples: ['awesome-vault'],
      pattern: slugPattern,
    }),
    name: textField(displayText, { description: 'Display name.', examples: ['Awesome Vault'] }),
    logo: textField(logoUrl, {
      description: 'Address of a logo image.',
      examples: ['https://example.com/logo.png'],
    }).optional(),
    chains: z
      .array(textField(displayText, { description: 'Name of a chain.', examples: ['ethereum'] }))
      .max(100)
      .optional()
      .meta({ description: 'Names of chains, for display alone.', examples: [['ethereum']] }),
    key: key.meta({ description: "Overrides the service's key: a protocol may be owned by another key." }).optional(),
    register: z.boolean().optional().meta({
      description: 'Register the protocol when the service does not know it. Default: true with the embedded service.',
    }),
    collectors: z
      .array(collector)
      .min(1)
      .meta({ description: 'The collectors of the protocol.', examples: [[{ use: 'host' }]] }),
  })
  .meta({ description: 'A protocol: one widget.', examples: [example] })

/** The protocols of a file. */
export const protocols = z
  .array(protocol)
  .min(1)
  .meta({ description: 'Protocols; one is one widget.', examples: [[example]] })
