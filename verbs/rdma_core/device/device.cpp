// SPDX-License-Identifier: Apache-2.0
// The devices of the process, and the functions of the C interface that list them.
#include "device/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "device/peer_address.hpp"
#include "device/port.hpp"
#include "process/core.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core {
namespace {

void copy_text(const std::string& text, std::span<char> out) {
  const auto count = std::min(text.size(), out.size() - 1);
  std::copy_n(text.begin(), count, out.begin());
}

}  // namespace

// [IBV-20, IBV-76, IBV-77, IBV-80, IBV-622]
Device::Device(DeviceSpec spec)
    : spec_(std::move(spec)),
      limits_(device_attributes(profile())),
      max_message_(port_attributes(profile(), Port{}).max_msg_sz),
      max_mtu_(port_attributes(profile(), Port{}).max_mtu) {
  copy_text(firmware(profile()), limits_.fw_ver);
  abi_.node_type = static_cast<ibv_node_type>(profile().node_type);
  abi_.transport_type = static_cast<ibv_transport_type>(profile().transport);
  const std::string uverbs = "uverbs" + std::to_string(spec_.index);
  copy_text(spec_.name, abi_.name);
  copy_text(uverbs, abi_.dev_name);
  copy_text("/sys/class/infiniband_verbs/" + uverbs, abi_.dev_path);
  copy_text("/sys/class/infiniband/" + spec_.name, abi_.ibdev_path);
}

Device* Device::find(const ibv_device* abi) {
  const auto all = devices();
  const auto found =
      std::ranges::find_if(all, [abi](Device* device) { return device->handle() == abi; });
  return found == all.end() ? nullptr : *found;
}

Port Device::port() {
  const std::lock_guard lock(mutex_);
  Port out = look_at_port(spec_);
  carriers_.insert(out.carriers.begin(), out.carriers.end());
  out.carriers.assign(carriers_.begin(), carriers_.end());
  spec_.list_loopback |= carriers_.empty();
  table_.arrange(out);
  return out;
}

// [IBV-113]
void GidTable::arrange(Port& port) {
  const auto is_in = [](const std::vector<PortGid>& rows, const PortGid& row) {
    return std::ranges::any_of(rows, [&](const PortGid& other) {
      return same_ip(row.gid, other.gid) && row.interface == other.interface &&
             row.type == other.type;
    });
  };
  for (PortGid& row : rows_) {
    if (!is_in(port.gids, row)) row = {};
  }
  for (const PortGid& row : port.gids) {
    if (!is_in(rows_, row)) insert(row);
  }
  port.gids = rows_;
}

void GidTable::insert(const PortGid& row) {
  const auto place = std::ranges::find_if(rows_, &PortGid::is_free);
  if (place != rows_.end()) {
    *place = row;
  } else if (rows_.size() < kMaxGids) {
    rows_.push_back(row);
  }
}

std::span<Device* const> devices() {
  static const auto& all = *[] {
    auto* const out = new std::vector<Device*>;
    for (DeviceSpec& spec : device_specs(settings())) out->push_back(new Device(std::move(spec)));
    return out;
  }();
  return all;
}

Device& device_at(const ibv_gid& ip) {
  const auto all = devices();
  if (all.size() == 1) return *all.front();
  const auto found = std::ranges::find_if(all, [&](Device* device) {
    const Port port = device->port();
    return std::ranges::any_of(
        port.gids, [&](const PortGid& entry) { return !entry.is_free() && same_ip(entry.ip, ip); });
  });
  return found == all.end() ? *all.front() : **found;
}

const char* why_no_datagrams() {
  const Settings& chosen = settings();
  if (chosen.persona == Persona::kIwarp) {
    return "iWARP supports only connections (use --as roce for datagrams)";
  }
  return chosen.tls.wanted()
             ? "TLS is on, but protects only connections (run without --tls to use datagrams)"
             : nullptr;
}

bool is_removed(const Device& device) {
  const Core* const core = Core::existing();
  return core != nullptr && core->hooks() != nullptr && core->hooks()->is_removed(device);
}

extern "C" {

#undef ibv_get_device_list
// [IBV-1, IBV-2, IBV-3, IBV-4]
ibv_device** ibv_get_device_list(int* num_devices) {
  const auto allocate = [](std::size_t size) {
    return static_cast<ibv_device**>(std::calloc(size, sizeof(ibv_device*)));
  };
  ibv_device** list = nullptr;
  int count = 0;
  (void)guarded([&] {
    const auto all = devices();
    list = allocate(all.size() + 1);
    for (Device* const device : all) {
      if (list != nullptr && !is_removed(*device)) list[count++] = device->handle();
    }
  });
  // If the devices cannot be made, the list is empty.
  if (list == nullptr) list = allocate(1);
  if (num_devices != nullptr) *num_devices = count;
  return list;
}

// [IBV-6]
void ibv_free_device_list(ibv_device** list) { std::free(static_cast<void*>(list)); }

// [IBV-9]
const char* ibv_get_device_name(ibv_device* of) { return of->name; }

// [IBV-11, IBV-12]
int ibv_get_device_index(ibv_device* of) { return static_cast<int>(Device::of(of).spec().index); }

}  // extern "C"

}  // namespace iwarp::rdma_core
