export { PendingScreen as RunsTab } from '../pending/PendingScreen.js'
