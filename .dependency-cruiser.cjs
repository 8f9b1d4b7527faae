/** Who may import whom. docs/architecture.md shows the same table; tests may import everything. */
const ROOMS = {
  model: [],
  ports: ['model', 'sql'],
  config: ['model'],
  telemetry: ['model'],
  sql: ['model'],
  client: ['model'],
  postgres: ['model', 'sql'],
  store: ['model', 'ports', 'telemetry', 'sql', 'postgres'],
  guard: ['model', 'ports', 'sql', 'postgres'],
  // Conditions of data checks, for runs and for requests.
  checks: ['model', 'ports', 'sql'],
  // Where a pipeline continues, for every kind of mart.
  checkpoints: ['model', 'sql', 'postgres'],
  sources: ['model', 'ports', 'telemetry', 'sql', 'postgres'],
  capture: ['model', 'ports', 'telemetry', 'sql', 'postgres'],
  sinks: ['model', 'ports', 'config', 'telemetry', 'sql', 'postgres'],
  transforms: ['model', 'ports', 'config', 'telemetry', 'sql'],
  // Moves rows from one adapter to another, and so knows both.
  transfers: [
    'model',
    'ports',
    'telemetry',
    'sql',
    'postgres',
    'checkpoints',
    'checks',
    'sources',
    'sinks',
    'scopes',
    'capture',
  ],
  // Look at what both adapters see, and change nothing.
  inspect: [
    'model',
    'ports',
    'sql',
    'postgres',
    'guard',
    'checks',
    'sources',
    'sinks',
    'transfers',
    'scopes',
    'capture',
  ],
  // Reads the same texts as the guard, and the catalogs of the same databases.
  lineage: ['model', 'ports', 'sql', 'postgres', 'guard'],
  // Reads the tree that the guard parsed, and the catalogs of the source.
  scopes: ['model', 'ports', 'sql', 'postgres', 'guard'],
  reconcile: ['model', 'ports', 'sql', 'postgres', 'checkpoints', 'sources', 'sinks'],
  data: ['model', 'ports', 'sql', 'postgres', 'sinks'],
  // Starts the driver of a Spark job, which reads what to do from the meta store.
  spark: ['model', 'ports', 'config'],
  // Neither sees the other, nor an adapter: main hands adapters in.
  runner: ['model', 'ports', 'config', 'telemetry'],
  api: ['model', 'ports', 'config', 'telemetry', 'sql'],
  // Delivers messages. Knows neither the API nor the store: main hands the outbox in.
  notify: ['model', 'ports', 'config', 'telemetry'],
  embedded: ['model', 'postgres'],
  cinema: ['model', 'sql'],
  cli: ['model', 'client', 'config', 'main'],
  main: ['*'],
}

/** Where a package that opens doors may be used. */
const DOORS = {
  pg: {
    is: '(^|/)node_modules/(@types/)?pg(-copy-streams|-cursor)?/',
    rooms: 'store|postgres|capture|sources/postgres|sinks/postgres|transfers|embedded|cinema|main',
  },
  clickhouse: { is: '(^|/)node_modules/@clickhouse/', rooms: 'sinks/clickhouse' },
  fastify: { is: '(^|/)node_modules/@?fastify', rooms: 'api|main' },
  notifications: { is: '(^|/)node_modules/(nodemailer|standardwebhooks)/', rooms: 'notify' },
  child_process: { is: '^(node:)?child_process$', rooms: 'embedded|transforms|spark|main' },
}

/** Tests, and what only tests read. */
const TEST = '[.]test[.]ts$|/corpus/'

const rooms = Object.entries(ROOMS)
  .filter(([, allowed]) => !allowed.includes('*'))
  .map(([room, allowed]) => ({
    name: `room-${room}`,
    severity: 'error',
    comment:
      allowed.length === 0 ? `${room} imports no other room` : `${room} imports only ${allowed.join(', ')}`,
    from: { path: `^src/${room}/`, pathNot: TEST },
    to: { path: '^(src|tests|scripts|bench)/', pathNot: `^src/(${[room, ...allowed].join('|')})/` },
  }))

const doors = Object.entries(DOORS).map(([name, { is, rooms: allowed }]) => ({
  name: `door-${name}`,
  severity: 'error',
  comment: `${name} only in ${allowed}`,
  from: { path: '^src/', pathNot: [TEST, `^src/(${allowed})/`] },
  to: { path: is },
}))

module.exports = {
  forbidden: [
    ...rooms,
    ...doors,
    {
      name: 'main-is-not-cli',
      severity: 'error',
      from: { path: '^src/main/', pathNot: TEST },
      to: { path: '^src/cli/' },
    },
    {
      // Another compiler and another bundler: what the console knows of the server is what the API says of itself.
      name: 'console-knows-only-the-api-types',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^(src|tests|scripts|bench)/', pathNot: '^src/client/api-types[.]ts$' },
    },
    {
      name: 'console-api-types-in-one-place',
      severity: 'error',
      from: { path: '^console/', pathNot: '^console/src/api/wire[.]ts$' },
      to: { path: '^src/' },
    },
    {
      // A screen is loaded by its route. Whatever two screens share is a component.
      name: 'console-screens-stand-alone',
      severity: 'error',
      from: { path: '^console/src/screens/([^/]+)/' },
      to: { path: '^console/src/screens/', pathNot: '^console/src/screens/($1|pending)/' },
    },
    {
      name: 'console-core-knows-no-screen',
      severity: 'error',
      from: { path: '^console/src/(api|components|facts|i18n|keyboard|live|preferences|theme|time)/' },
      to: { path: '^console/src/screens/' },
    },
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'rooms-are-known',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(${Object.keys(ROOMS).join('|')})/` },
      to: {},
    },
    {
      name: 'no-tests-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: TEST },
      to: { path: `^tests/|${TEST}` },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Types count too: a type is how a room learns of another.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.json', '.css'],
    },
  },
}
