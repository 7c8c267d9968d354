package discovery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

func TestFlagsAreWhatTheKernelLetsProgramsUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, cpuinfo string
		asked, want   []string
		warns         string
	}{
		{"amd64", "flags\t\t: amx_int8 fpu avx512_vnni avx2\n", []string{"avx512f"}, []string{"avx2", "avx512_vnni", "amx_int8"}, ""},
		{"arm64", "processor\t: 0\nFeatures\t: fp i8mm asimd sve\n", nil, []string{"asimd", "sve", "i8mm"}, ""},
		{"none of them", "flags : fpu\n", []string{"avx2"}, []string{}, ""},
		{"the processor is asked", "", []string{"avx2"}, []string{"avx2"}, ""},
		{"without flags", "processor : 0\n", nil, nil, "cpuinfo has no flags"},
		{"nobody says", "", nil, nil, "cpuinfo: no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := whole().with(tree{"proc/cpuinfo": c.cpuinfo}).prober(t, nil)
			p.asked = func() []string { return c.asked }
			var f inventory.Facts
			err := p.flags(t.Context(), &f)
			if d := cmp.Diff(c.want, f.CPUFlags); d != "" || (err == nil) != (c.warns == "") {
				t.Errorf("error %v (-want +got):\n%s", err, d)
			}
			if err != nil && !strings.Contains(err.Error(), c.warns) {
				t.Errorf("want %q, got %v", c.warns, err)
			}
		})
	}
}

func TestTheHypervisorIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, arch, flags, vendor, product, want string }{
		{"real", "amd64", "fpu", "QEMU", "", ""},
		{"by its maker", "amd64", "hypervisor", "innotek GmbH", "", "VirtualBox"},
		{"by another maker", "amd64", "fpu hypervisor", "Amazon EC2", "", "Amazon EC2"},
		{"by nobody", "amd64", "hypervisor", "", "", unnamed},
		{"arm64, by its maker", "arm64", "fp", "QEMU", "", "QEMU"},
		{"arm64, real", "arm64", "fp", "Some Boards", "", ""},
		{"arm64, a maker of both", "arm64", "fp", "Microsoft Corporation", "Surface", ""},
		{"arm64, by its product", "arm64", "fp", "Microsoft Corporation", "Virtual Machine", "Hyper-V"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := whole().with(tree{
				"proc/cpuinfo": "flags : " + c.flags + "\n", "sys/class/dmi/id/sys_vendor": c.vendor, "sys/class/dmi/id/product_name": c.product,
			}).prober(t, nil)
			f := inventory.Facts{Arch: c.arch}
			if err := p.virtual(t.Context(), &f); err != nil || f.Virtual != c.want || (len(f.Warnings) == 1) != (c.want != "") {
				t.Errorf("want %q, got %q, %q, %v", c.want, f.Virtual, f.Warnings, err)
			}
		})
	}
}

func TestDisksAreListedOnceLocalAndSharedApart(t *testing.T) {
	t.Parallel()
	p, base := disksAt(t, strings.Join([]string{
		"21 20 8:1 /x BASE/a/bind rw - ext4 /dev/sda1 rw",
		"22 20 8:17 / BASE/v rw - xfs /dev/sdb1 rw",
		"23 20 0:44 / BASE/far rw - nfs4 server:/ex\\040port rw",
		"24 20 0:45 / BASE/host rw - fuse.sshfs me@host:/ rw",
		"25 20 0:5 / BASE/proc rw - proc proc rw",
		"26 20 0:46 / BASE/over rw - overlay overlay rw",
		"27 20 8:2 / BASE/efi rw - vfat /dev/sda2 rw",
		"28 20 8:33 /f BASE/hosts rw - ext4 /dev/sdc1 rw",
		"29 20 0:47 / BASE/w rw - tmpfs tmpfs rw",
	}, "\n")+"\n", "w")
	if err := os.WriteFile(filepath.Join(base, "hosts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	disk := func(at, source, kind string, shared bool) inventory.Disk {
		return inventory.Disk{Mount: at, Source: source, Type: kind, Shared: shared, FreeMB: 40 << 10, TotalMB: 100 << 10}
	}
	want := []inventory.Disk{
		disk("/", "/dev/sda1", "ext4", false),
		disk(base+"/far", "server:/ex port", "nfs4", true),
		disk(base+"/host", "me@host:/", "fuse.sshfs", true),
		disk(base+"/v", "/dev/sdb1", "xfs", false),
		disk(base+"/w", "tmpfs", "tmpfs", false), // weights are there
	}
	f := p.Facts(t.Context())
	if d := cmp.Diff(want, f.Disks); d != "" || len(f.Warnings) > 0 {
		t.Errorf("warnings %q (-want +got):\n%s", f.Warnings, d)
	}
}

func TestADiskThatDoesNotAnswerIsNamedAndTheOthersAreListed(t *testing.T) {
	t.Parallel()
	p, base := disksAt(t, "22 20 0:44 / BASE/far rw - nfs server:/w rw\n23 20 8:17 / BASE/v rw - xfs /dev/sdb1 rw\n", "w")
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		p.room = func(at string) (diskRoom, error) {
			if strings.HasSuffix(at, "far") {
				<-answer // as a call into a file system whose server is gone
				return diskRoom{}, errors.New("stale")
			}
			return diskRoom{total: 1 << 30, free: 1 << 29}, nil
		}
		for _, says := range []string{"does not answer", "has not answered since"} {
			f := inventory.Facts{}
			err := p.disks(context.Background(), &f)
			if err == nil || !strings.Contains(err.Error(), "the file system at "+base+"/far "+says) {
				t.Errorf("want that it %s, got %v", says, err)
			}
			if len(f.Disks) != 2 || f.DiskTotalMB != 1024 {
				t.Errorf("want the others, got %+v", f.Disks)
			}
		}
		close(answer)
	})
}
