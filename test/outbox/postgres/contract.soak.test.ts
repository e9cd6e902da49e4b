import { describe } from 'vitest'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { oddSettings } from '../../support/postgres/odd-settings.ts'
import { postgresOutboxPlace } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { outboxContract } from '../contract/outbox-contract.ts'

describe.skipIf(postgresPlace.kind === 'missing')('needs the program initdb', () => {
  const databases = useTestDatabases(oddSettings)
  outboxContract('PostgreSQL', () => postgresOutboxPlace(databases), 30)
})
