export { PendingScreen as ConnectionsTab } from '../pending/PendingScreen.js'
