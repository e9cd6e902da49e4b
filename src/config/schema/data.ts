import { z } from 'zod'
import { lanesMax } from './limits.ts'
import { refused } from './parsed-text.ts'
import { secretRef, textField } from './text-field.ts'
import { laneText, machineName, namePattern, path } from './text-parsers.ts'

const folder = textField(
  text =>
    /^\s*postgres(ql)?:/i.test(text)
      ? refused('the address of a database is never written in this file', 'write { postgres: { env: DATABASE_URL } }')
      : path(text),
  {
    description: 'Folder of the outbox and all that is kept; relative to this file; made with mode 0700.',
    examples: ['../data'],
  },
)

/** Where the outbox is kept. */
export const data = z
  .union([
    folder,
    z
      .strictObject({
        postgres: secretRef.meta({
          description:
            'Where the address of the database is kept, postgres://USER:PASSWORD@HOST:5432/DATABASE. It is read when the daemon starts, and never written in this file.',
          examples: [{ env: 'DATABASE_URL' }, { file: '/run/secrets/database_url' }],
          minProperties: 1,
          maxProperties: 1,
        }),
      })
      .meta({ description: 'A PostgreSQL database, version 13 or later, that the daemons of a fleet share.' }),
  ])
  .prefault('../data')
  .meta({
    description:
      'Where the outbox is kept: in a folder, relative to this file and made with mode 0700, or in a PostgreSQL database that the daemons of a fleet share.',
    examples: ['../data', { postgres: { env: 'DATABASE_URL' } }],
  })

/** A daemon among those of its fleet. */
export const fleet = z
  .strictObject({
    name: textField(machineName, {
      description: 'Name of this daemon; each daemon of a fleet has its own. Default: the name of the host.',
      examples: ['eu-1'],
      pattern: namePattern,
    }).optional(),
    lanes: z
      .array(textField(laneText, { description: 'Name of a chain, web, or machine/NAME.', examples: ['ethereum'] }))
      .min(1)
      .max(lanesMax)
      .optional()
      .meta({
        description:
          'What this daemon collects: names of chains, web for collectors without a chain, machine/NAME for those of a machine. Default: every chain with a node that answers, web, and machine/ with its own name.',
        examples: [['ethereum', 'web']],
      }),
    folder: textField(path, {
      description:
        'Folder of this daemon alone, relative to this file: what can be read only "now" waits there while the database is away. Default: ../data.',
      examples: ['../data'],
    }).optional(),
  })
  .meta({
    description: 'This daemon among those that share the database of `data`.',
    examples: [{ name: 'eu-1', lanes: ['ethereum', 'web'] }],
  })

/** The machine of a collector that reads the machine it runs on. */
export const machine = textField(machineName, {
  description:
    'The daemon of the fleet, by its name, that runs this collector. Default, of a collector that reads its own machine: the daemon that first ran it.',
  examples: ['eu-1'],
  pattern: namePattern,
})
